// Applications that unload the library.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "lifetime/drivers.h"
#include "test_definitions.h"

namespace halyard::lifetime {
namespace {

class DlcloseTest : public ::testing::TestWithParam<std::string> {};

TEST_P(DlcloseTest, WhileThreadsOfTheLibraryRun) {
  for (int round = 0; round < 3; ++round) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(60);
      ::execl(DLCLOSE_CLIENT, "dlclose_client", LIBRARY, GetParam().c_str(), nullptr);
      ::_exit(99);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 42 << 8) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, DlcloseTest, ::testing::ValuesIn(kDevices),
                         [](const auto& device) {
                           std::string name = device.param;
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

}  // namespace
}  // namespace halyard::lifetime

int main(int argc, char** argv) {
  const halyard::lifetime::Drivers drivers(REFERENCE_DRIVER, CPU_LIBRARY);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

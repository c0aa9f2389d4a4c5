// Applications that end, by exit() or by returning from main, while other threads compute.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "lifetime/drivers.h"
#include "test_definitions.h"

namespace halyard::lifetime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr unsigned kLimitSeconds = 60;

// The result of waitpid for a client.
int statusOf(const char* how, int time, const std::vector<std::string>& devices) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(kLimitSeconds);
    const std::string duration = std::to_string(time);
    std::vector<const char*> arguments = {"exit_client", how, duration.c_str()};
    for (const std::string& device : devices) arguments.push_back(device.c_str());
    arguments.push_back(nullptr);
    ::execv(EXIT_CLIENT, const_cast<char* const*>(arguments.data()));
    ::_exit(99);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

// This process becomes the parent of the drivers after the application ends.
bool allChildrenEnd() {
  const auto limit = steady_clock::now() + seconds(20);
  for (;;) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended < 0) return true;
    if (ended > 0) continue;
    if (steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
}

class ExitTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ExitTest, WhileThreadsCompute) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::vector<std::vector<std::string>> lists = {kDevices};
  for (const std::string& device : kDevices) lists.push_back({device});
  for (int round = 0; round < 10; ++round) {
    for (const std::vector<std::string>& devices : lists) {
      EXPECT_EQ(statusOf(GetParam(), round * 3, devices), 42 << 8)
          << devices.size() << " devices, " << devices.front() << ", round " << round;
      ASSERT_TRUE(allChildrenEnd());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, ExitTest, ::testing::Values("return", "exit", "thread"),
                         [](const auto& way) { return std::string(way.param); });

}  // namespace
}  // namespace halyard::lifetime

int main(int argc, char** argv) {
  const halyard::lifetime::Drivers drivers(REFERENCE_DRIVER, CPU_LIBRARY);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

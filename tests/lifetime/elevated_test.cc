// A program with elevated privileges (AT_SECURE) ignores the variables of the environment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "test_definitions.h"

namespace halyard::lifetime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The output of the program, from both streams.
std::string outputOf(const std::string& program,
                     const std::vector<std::pair<std::string, std::string>>& environment) {
  int pipe[2];
  if (::pipe(pipe) != 0) return "pipe";
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::dup2(pipe[1], 1);
    ::dup2(pipe[1], 2);
    ::close(pipe[0]);
    ::close(pipe[1]);
    ::alarm(60);
    ::execl(program.c_str(), "elevated_client", nullptr);
    ::_exit(99);
  }
  ::close(pipe[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(pipe[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (status != 0) text += "\nstatus " + std::to_string(status);
  return text;
}

TEST(ElevatedTest, NoVariableSteersIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a program of another user's";
  // Beside the build: /tmp may forbid programs with elevated privileges.
  const std::string program = std::string(ELEVATED_CLIENT) + ".elevated";
  const std::string trace = program + ".trace";
  std::filesystem::remove(program);
  std::filesystem::copy_file(ELEVATED_CLIENT, program);
  ASSERT_EQ(::chown(program.c_str(), 65534, 65534), 0);
  ASSERT_EQ(::chmod(program.c_str(), 04755), 0);
  // A name that no installation uses: without the variables a program finds the drivers of its
  // installation.
  const std::string manifest = program + ".json";
  std::ofstream(manifest) << R"({"name": "test-steered", "version": "1", "hal_version": "1.3",
      "executable": ")" << REFERENCE_DRIVER
                          << R"("})";
  const std::vector<std::pair<std::string, std::string>> steering = {
      {"HALYARD_DRIVER_FILES", manifest},
      {"HALYARD_LOG", "info"},
      {"HALYARD_VLOG", "all"},
      {"debug.nn.vlog", "all"},
      {"HALYARD_SHADOW", "many"},
      {"HALYARD_PARTITION", "wrong"},
      {"HALYARD_PARTITION_OVERHEAD", "off"},
      {"HALYARD_TRACE", trace}};
  // Without privileges every variable has an effect.
  const std::string plain = outputOf(ELEVATED_CLIENT, steering);
  EXPECT_THAT(plain, HasSubstr("elevated: 0"));
  EXPECT_THAT(plain, HasSubstr("device: test-steered"));
  EXPECT_THAT(plain, HasSubstr("halyard: info:"));
  EXPECT_THAT(plain, HasSubstr("HALYARD_SHADOW is \"many\""));
  EXPECT_TRUE(std::filesystem::remove(trace));
  EXPECT_THAT(outputOf(ELEVATED_CLIENT, {{"HALYARD_REQUIRE_DEVICE", "none"}}),
              HasSubstr("made: ANeuralNetworksCompilation_finish"));
  // With privileges no variable has an effect.
  const std::string elevated = outputOf(program, steering);
  EXPECT_THAT(elevated, HasSubstr("elevated: 1"));
  EXPECT_THAT(elevated, HasSubstr("device: nnapi-reference"));
  EXPECT_THAT(elevated, Not(HasSubstr("test-steered")));
  EXPECT_THAT(elevated, HasSubstr("made: \n"));
  EXPECT_THAT(elevated, Not(HasSubstr("halyard: info:")));
  EXPECT_THAT(elevated, Not(HasSubstr("HALYARD_")));
  EXPECT_FALSE(std::filesystem::exists(trace));
  EXPECT_THAT(outputOf(program, {{"HALYARD_REQUIRE_DEVICE", "none"}}), HasSubstr("made: \n"));
  std::filesystem::remove(program);
  std::filesystem::remove(manifest);
}

}  // namespace
}  // namespace halyard::lifetime

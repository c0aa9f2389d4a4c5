// Tests of a driver's executable: its arguments, and its service form.
#include "halyard/driver/driver_main.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "hal/client/remote_device.h"
#include "hal/testing/test_device.h"
#include "test_definitions.h"

namespace halyard::hal {
namespace {

using std::chrono::milliseconds;
using testing::addModel;
using ::testing::HasSubstr;
using testing::pointerRequest;

struct DriverRun {
  int status = -1;
  std::string errors;
};

// Runs the test driver without the runtime.
DriverRun runDriver(std::vector<const char*> arguments) {
  int pipe[2];
  EXPECT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  arguments.insert(arguments.begin(), HALYARD_TEST_DRIVER_PATH);
  arguments.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(pipe[1], 2);
    ::execv(HALYARD_TEST_DRIVER_PATH, const_cast<char**>(arguments.data()));
    ::_exit(99);
  }
  ::close(pipe[1]);
  DriverRun run;
  char buffer[1000];
  for (ssize_t count = 0; (count = ::read(pipe[0], buffer, sizeof buffer)) > 0;) {
    run.errors.append(buffer, static_cast<size_t>(count));
  }
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

TEST(DriverMainTest, ByHandItSaysHowItIsUsed) {
  for (const std::vector<const char*>& arguments :
       std::vector<std::vector<const char*>>{{},
                                             {"--help"},
                                             {"--fd=x"},
                                             {"--fd=-1"},
                                             {"--listen"},
                                             {"--fd=3", "more"},
                                             {"--", "more"},
                                             {"--listen", "/x", "more"},
                                             {"--fd=0"},
                                             {"--fd=77"}}) {
    const DriverRun run = runDriver(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.errors, HasSubstr("usage:"));
    EXPECT_THAT(run.errors, HasSubstr("--listen PATH"));
  }
  EXPECT_THAT(runDriver({"--fd=0"}).errors, HasSubstr("not a connected Unix socket"));
}

TEST(DriverMainTest, AnArgumentThatNobodyTakesIsRefused) {
  // The test driver has no arguments of its own. The runtime passes the manifest's arguments.
  Manifest manifest;
  manifest.name = "test-arguments";
  manifest.target = HALYARD_TEST_DRIVER_PATH;
  manifest.arguments = {"--loud"};
  auto loop = RpcLoop::start();
  ASSERT_TRUE(loop.ok());
  EXPECT_THAT(RemoteDevice::open(*loop, manifest).status().message(),
              HasSubstr("argument '--loud': the driver takes none"));
  char folder[] = "/tmp/halyard_driver_test_XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/driver.sock";
  const DriverRun run = runDriver({"--listen", path.c_str(), "--", "--loud"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, HasSubstr("argument '--loud': the driver takes none"));
  std::filesystem::remove_all(folder);
}

TEST(DriverMainTest, ListeningFailureIsTold) {
  const DriverRun run = runDriver({"--listen", "/nowhere/at/all.sock"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, HasSubstr("/nowhere/at/all.sock"));
}

TEST(DriverMainTest, ServiceTakesSeveralClientsAndOutlivesThem) {
  char folder[] = "/tmp/halyard_driver_test_XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/driver.sock";
  const pid_t service = ::fork();
  if (service == 0) {
    ::execl(HALYARD_TEST_DRIVER_PATH, HALYARD_TEST_DRIVER_PATH, "--listen", path.c_str(), nullptr);
    ::_exit(99);
  }
  Manifest manifest;
  manifest.name = "test-service";
  manifest.kind = Manifest::Kind::SOCKET;
  manifest.target = path;
  auto loop = RpcLoop::start();
  ASSERT_TRUE(loop.ok());
  Result<std::shared_ptr<RemoteDevice>> first = badState("not tried");
  for (int i = 0; i < 500 && !first.ok(); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    first = RemoteDevice::open(*loop, manifest);
  }
  ASSERT_TRUE(first.ok()) << first.status().toString();
  auto second = RemoteDevice::open(*loop, manifest);
  ASSERT_TRUE(second.ok()) << second.status().toString();
  EXPECT_EQ((*first)->processId(), service);
  EXPECT_EQ((*second)->processId(), service);
  first = badState("gone");

  auto prepared = (*second)->prepareModel(validated(addModel(2)).value(), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  const float a[] = {1, 2};
  float out[2];
  EXPECT_TRUE((*prepared)->executeSynchronously(pointerRequest(a, a, out, 2), {}).status.ok());
  EXPECT_EQ(out[1], 4.0f);

  ::kill(service, SIGTERM);
  int status = 0;
  ASSERT_EQ(::waitpid(service, &status, 0), service);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_FALSE(std::filesystem::exists(path));
  const auto late = (*prepared)->executeSynchronously(pointerRequest(a, a, out, 2), {});
  EXPECT_EQ(late.status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(late.status.message(), HasSubstr("closed its connection"));
  EXPECT_EQ((*second)->wait().code(), ResultCode::UNAVAILABLE_DEVICE);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace halyard::hal

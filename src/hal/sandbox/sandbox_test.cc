// Tests of the sandbox of drivers' processes.
#include "hal/sandbox/sandbox.h"
#include "base/thread_sanitizer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/thread_sanitizer.h"
#include "hal/client/remote_device.h"
#include "hal/sandbox/every_thread.h"
#include "hal/sandbox/sanitizer.h"
#include "hal/testing/forbidden.h"
#include "hal/testing/test_device.h"
#include "hal/testing/test_driver_manifest.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the test driver's vocabulary
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using State = IsolationMeasure::State;
using Json = nlohmann::json;

class SandboxTest : public ::testing::Test {
 protected:
  void open(const SandboxSettings& settings = {}) {
    Manifest manifest = testing::testManifest();
    manifest.sandbox = settings;
    prepared_.reset();
    device_.reset();
    auto device = RemoteDevice::open(loop_, manifest);
    ASSERT_TRUE(device.ok()) << device.status().toString();
    device_ = *device;
    auto prepared = device_->prepareModel(validated(addModel(4)).value(), {});
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    prepared_ = *prepared;
  }
  ExecutionResult execute(Forbidden what, int& error) {
    const float in[4] = {kForbidden, static_cast<float>(what), 0, 0};
    float out[4] = {-1, 0, 0, 0};
    auto result = prepared_->executeSynchronously(pointerRequest(in, in, out, 4), {});
    error = static_cast<int>(out[0]);
    return result;
  }
  // Returns the result of the attempt in the driver.
  int attempt(Forbidden what) {
    int error = 0;
    const ExecutionResult result = execute(what, error);
    EXPECT_TRUE(result.status.ok()) << result.status.toString();
    return error;
  }
  State stateOf(std::string_view measure) {
    for (const IsolationMeasure& entry : device_->isolation()) {
      if (entry.name == measure) return entry.state;
    }
    ADD_FAILURE() << measure << " is not reported";
    return State::UNAVAILABLE;
  }
  bool applied(std::string_view measure) { return stateOf(measure) == State::APPLIED; }

  std::shared_ptr<RpcLoop> loop_ = RpcLoop::start().value();
  std::shared_ptr<RemoteDevice> device_;
  std::shared_ptr<PreparedModel> prepared_;
};

TEST_F(SandboxTest, EveryMeasureIsReported) {
  open();
  std::vector<std::string> names;
  for (const IsolationMeasure& measure : device_->isolation()) names.push_back(measure.name);
  EXPECT_EQ(names, std::vector<std::string>(kMeasures.begin(), kMeasures.end()));
  EXPECT_TRUE(applied("no_new_privs"));
  EXPECT_TRUE(applied("capabilities"));
  EXPECT_TRUE(applied("limits"));
  EXPECT_EQ(applied("not_dumpable"), !kSanitized);
}

TEST_F(SandboxTest, WhatIsForbiddenFails) {
  open();
  if (applied("landlock")) {
    for (const Forbidden what :
         {Forbidden::READ_FILE, Forbidden::READ_FILE_IN_ELDER_THREAD, Forbidden::CREATE_FILE}) {
      EXPECT_EQ(attempt(what), EACCES) << static_cast<int>(what);
    }
    EXPECT_NE(attempt(Forbidden::READ_MEMORY_OF_CLIENT), 0);
  }
  if (applied("seccomp")) {
    for (const Forbidden what :
         {Forbidden::NETWORK_SOCKET, Forbidden::NETWORK_SOCKET_IN_ELDER_THREAD,
          Forbidden::UNIX_SOCKET, Forbidden::EXECUTE, Forbidden::SIGNAL_CLIENT,
          Forbidden::TYPE_AT_TERMINAL, Forbidden::TYPE_AT_TERMINAL_WITH_HIGH_BITS,
          Forbidden::IO_URING, Forbidden::NEW_NAMESPACE}) {
      EXPECT_EQ(attempt(what), EPERM) << static_cast<int>(what);
    }
    if (!kSanitized) {
      EXPECT_EQ(attempt(Forbidden::FORK), EPERM);
      EXPECT_EQ(attempt(Forbidden::BECOME_DUMPABLE), EPERM);
    }
  }
  EXPECT_EQ(attempt(Forbidden::CAPABILITIES), EPERM);
  EXPECT_EQ(attempt(Forbidden::CAPABILITIES_IN_ELDER_THREAD), EPERM);
  EXPECT_EQ(attempt(Forbidden::LARGE_FILE), EFBIG);
  if (!kSanitized) {
    EXPECT_EQ(attempt(Forbidden::MUCH_MEMORY), ENOMEM);
  }
  EXPECT_EQ(attempt(Forbidden::START_THREAD), 0);
  EXPECT_EQ(attempt(Forbidden::LOAD_LIBRARY), 0);
}

TEST_F(SandboxTest, TracingTheClientEndsTheDriver) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer traces";
  open();
  if (!applied("seccomp")) GTEST_SKIP() << "no seccomp here";
  int error = 0;
  const ExecutionResult result = execute(Forbidden::TRACE_CLIENT, error);
  EXPECT_EQ(result.status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(result.status.message(), HasSubstr("Bad system call"));
}

TEST_F(SandboxTest, OnlyTheManifestSwitchesMeasuresOff) {
  SandboxSettings settings;
  settings.off["landlock"] = "the test reads files";
  settings.off["seccomp"] = "the test makes sockets";
  settings.off["limits"] = "the test makes large files";
  open(settings);
  EXPECT_EQ(stateOf("landlock"), State::OFF);
  EXPECT_EQ(device_->isolation()[3].detail, "the test reads files");
  EXPECT_EQ(stateOf("seccomp"), State::OFF);
  EXPECT_TRUE(applied("no_new_privs"));
  EXPECT_EQ(attempt(Forbidden::READ_FILE), 0);
  EXPECT_EQ(attempt(Forbidden::NETWORK_SOCKET), 0);
  EXPECT_EQ(attempt(Forbidden::LARGE_FILE), 0);
  EXPECT_EQ(attempt(Forbidden::CAPABILITIES), EPERM);

  // The application's environment must not replace the manifest.
  ::setenv(kSandboxVariable, R"({"off": {"landlock": "I want to"}})", 1);
  open();
  ::unsetenv(kSandboxVariable);
  EXPECT_NE(stateOf("landlock"), State::OFF);
}

TEST_F(SandboxTest, PathsOfTheManifest) {
  SandboxSettings settings;
  settings.readable = {"/etc/passwd"};
  settings.writable = {"/tmp", "/dev/there-is-no-such-device"};
  open(settings);
  if (!applied("landlock")) GTEST_SKIP() << "no Landlock here";
  EXPECT_EQ(attempt(Forbidden::READ_FILE), 0);
  EXPECT_EQ(attempt(Forbidden::CREATE_FILE), 0);
  ::unlink(fmt::format("/tmp/halyard-forbidden-{}", device_->processId()).c_str());
  EXPECT_THAT(device_->isolation()[3].detail,
              AllOf(HasSubstr("/etc/passwd"), HasSubstr("there-is-no-such-device")));
}

TEST_F(SandboxTest, LimitsOfTheManifest) {
  SandboxSettings settings;
  settings.fileBytes = uint64_t{1} << 43;
  settings.memoryBytes = uint64_t{1} << 43;
  open(settings);
  EXPECT_EQ(attempt(Forbidden::LARGE_FILE), 0);
  // ThreadSanitizer cannot run with this memory limit.
  if (!kThreadSanitizer) {
    EXPECT_EQ(attempt(Forbidden::MUCH_MEMORY), 0);
  }
}

TEST(SandboxSettingsTest, OfAManifest) {
  const Json json = Json::parse(R"({
    "off": {"seccomp": "its compiler is another program"},
    "readable": ["firmware/", "/opt/vendor/lib"],
    "writable": ["/dev/npu0"],
    "limits": {"memory_bytes": 1073741824, "file_bytes": 2147483648, "threads": 100}})");
  const auto settings = parseSandbox(json, "/usr/share/halyard");
  ASSERT_TRUE(settings.ok()) << settings.status().toString();
  EXPECT_EQ(settings->off.at("seccomp"), "its compiler is another program");
  EXPECT_THAT(settings->readable, ElementsAre("/usr/share/halyard/firmware", "/opt/vendor/lib"));
  EXPECT_THAT(settings->writable, ElementsAre("/dev/npu0"));
  EXPECT_EQ(settings->memoryBytes, 1073741824u);
  EXPECT_EQ(settings->fileBytes, 2147483648u);
  EXPECT_EQ(settings->threads, 100u);
  EXPECT_EQ(sandboxFromText(sandboxText(*settings)).value(), *settings);
  EXPECT_EQ(sandboxText(SandboxSettings()), "");
  EXPECT_EQ(sandboxFromText("").value(), SandboxSettings());
}

TEST(SandboxSettingsTest, MistakesAreNamed) {
  const std::pair<const char*, const char*> mistakes[] = {
      {R"([])", "not an object"},
      {R"({"of": {}})", "'of' is unknown"},
      {R"({"off": ["seccomp"]})", "not an object"},
      {R"({"off": {"seccom": "x"}})", "'seccom' is none of limits, not_dumpable"},
      {R"({"off": {"seccomp": true}})", "'off.seccomp' is a boolean, not a string"},
      {R"({"off": {"seccomp": "  "}})", "'off.seccomp' is empty"},
      {R"({"off": {"seccomp": "a\nb"}})", "control characters"},
      {R"({"readable": "/x"})", "not a list"},
      {R"({"readable": [1]})", "not a string"},
      {R"({"writable": ["/x/.."]})", "everything"},
      {R"({"limits": {"memory": 1}})", "'limits.memory' is unknown"},
      {R"({"limits": {"memory_bytes": 1}})", "limits.memory_bytes' is 1, expected"},
      {R"({"limits": {"file_bytes": -1}})", "limits.file_bytes' is -1"},
      {R"({"limits": {"threads": 1.5}})", "limits.threads' is 1.5"},
  };
  for (const auto& [text, expected] : mistakes) {
    const auto settings = parseSandbox(Json::parse(text), "/folder");
    ASSERT_FALSE(settings.ok()) << text;
    EXPECT_EQ(settings.status().code(), ResultCode::BAD_DATA);
    EXPECT_THAT(settings.status().message(), HasSubstr(expected)) << text;
  }
  EXPECT_FALSE(sandboxFromText("{").ok());
}

// A thread that cannot be reached is reported, not skipped.
TEST(EveryThreadTest, BlockedSignalIsToldAndDoesNoHarmLater) {
  if (kThreadSanitizer) GTEST_SKIP() << "a thread that blocks all signals counts as its own";
  const pid_t child = ::fork();
  if (child == 0) {
    int pipe[2];
    if (::pipe(pipe) != 0) ::_exit(10);
    std::thread deaf([&] {
      sigset_t all;
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
      (void)!::write(pipe[1], "x", 1);
      for (;;) ::pause();
    });
    char byte = 0;
    if (::read(pipe[0], &byte, 1) != 1) ::_exit(11);
    const Status status = onEveryThread([](void*) { return 0; }, nullptr);
    ::_exit(!status.ok() && status.message().find("blocks") != std::string::npos ? 0 : 12);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(EveryThreadTest, ReachesAllAndReportsErrors) {
  constexpr int kThreads = 20;
  std::mutex mutex;
  mutex.lock();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] { const std::lock_guard lock(mutex); });
  }
  static int calls = 0;
  const Status all = onEveryThread(
      [](void*) {
        __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
        return 0;
      },
      nullptr);
  const Status failing = onEveryThread([](void*) { return ENOSPC; }, nullptr);
  mutex.unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(all.ok()) << all.toString();
  EXPECT_GE(calls, kThreads + 1);  // a sanitizer may have threads of its own
  EXPECT_THAT(failing.message(), HasSubstr("No space left"));
}

}  // namespace
}  // namespace halyard::hal

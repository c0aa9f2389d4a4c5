// A driver is killed, stopped or cut off, or its messages are damaged, at each step of the
// protocol. Its client gets a result or a clear error, in time, and leaks nothing. The driver is
// the real one; tests/crash_relay.cc is between it and the client.
#include <dirent.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>

#include "base/sanitized.h"
#include "hal/client/remote_device.h"
#include "hal/testing/test_device.h"
#include "halyard/driver/sync_fence.h"
#include "test_definitions.h"

namespace halyard::hal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::addModel;

constexpr uint32_t kValues = 4;
constexpr milliseconds kDeadline{600};
// The longest time of one step: the sum of all limits, and a large reserve for a busy machine.
constexpr seconds kStepLimit{20};
constexpr const char* kLog = "HALYARD_CRASH_LOG";
constexpr const char* kPoint = "HALYARD_CRASH_POINT";

// The result of a scenario: the first step that failed, or an empty name.
struct Outcome {
  std::string step;
  Status status;
};

// The life of one client: it uses each function of the HAL once.
class Scenario {
 public:
  // `mayWait`: also calls without deadlines, where the client waits for a lost answer forever.
  Scenario(std::shared_ptr<RpcLoop> loop, bool mayWait)
      : loop_(std::move(loop)), mayWait_(mayWait) {}

  Outcome run() {
    step("open", [this] { return open(); });
    step("getSupportedOperations", [this] {
      auto supported = device_->getSupportedOperations(validated(model_).value());
      if (supported.ok()) right_ = right_ && supportsAll(*supported);
      return supported.takeStatus();
    });
    step("prepareModel", [this] { return prepare(); });
    if (mayWait_) step("executeSynchronously", [this] { return execute(false); });
    step("executeSynchronously with a deadline", [this] { return execute(true); });
    step("executeFenced", [this] { return fenced(); });
    step("burst", [this] { return burst(); });
    step("allocate", [this] { return buffer(); });
    step("getStatus", [this] {
      return device_->status() == DeviceStatus::AVAILABLE ? okStatus() : opFailed("not available");
    });
    return outcome_;
  }
  // Waits until the same device works with a good driver; false if it does not return.
  bool recovers() {
    if (device_ == nullptr) return true;
    prepared_ = nullptr;
    for (const auto end = Clock::now() + kStepLimit; Clock::now() < end;) {
      if (prepare().ok() && execute(true).ok()) return right_;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return false;
  }
  // False when a step reported success with wrong values.
  bool right() const { return right_; }
  Clock::duration longestStep() const { return longestStep_; }

 private:
  void step(const char* name, const std::function<Status()>& run) {
    if (!outcome_.step.empty()) return;
    const auto start = Clock::now();
    Status status = run();
    longestStep_ = std::max(longestStep_, Clock::now() - start);
    if (!status.ok()) outcome_ = {name, std::move(status)};
  }

  Status open() {
    Manifest manifest;
    manifest.name = "crash-relay";
    manifest.version = "1";
    manifest.target = CRASH_RELAY;
    HALYARD_ASSIGN_OR_RETURN(device_, RemoteDevice::open(loop_, std::move(manifest)));
    return okStatus();
  }
  Status prepare() {
    PrepareOptions options;
    options.deadline = Clock::now() + kDeadline;
    HALYARD_ASSIGN_OR_RETURN(prepared_, device_->prepareModel(validated(model_).value(), options));
    return okStatus();
  }
  ExecuteOptions options(bool deadline) const {
    ExecuteOptions options;
    if (deadline) options.deadline = Clock::now() + kDeadline;
    return options;
  }
  Request request() {
    std::fill(out_.begin(), out_.end(), 0.0f);
    return testing::pointerRequest(a_.data(), b_.data(), out_.data(), kValues);
  }
  void check() { right_ = right_ && out_ == std::vector<float>{11, 22, 33, 44}; }

  Status execute(bool deadline) {
    const ExecutionResult result = prepared_->executeSynchronously(request(), options(deadline));
    if (result.status.ok()) check();
    return result.status;
  }
  // Arguments in shared memory, so that the driver's own fence is used.
  Status fenced() {
    const size_t bytes = kValues * sizeof(float);
    HALYARD_ASSIGN_OR_RETURN(const SharedMemoryPtr pool, SharedMemory::create(3 * bytes, "crash"));
    HALYARD_ASSIGN_OR_RETURN(const Mapping mapping, pool->map());
    std::memcpy(mapping.data(), a_.data(), bytes);
    std::memcpy(mapping.data() + bytes, b_.data(), bytes);
    Request request;
    request.pools = {pool};
    const auto argument = [&](uint32_t index) {
      RequestArgument result;
      result.kind = RequestArgument::Kind::POOL;
      result.location = {0, static_cast<uint32_t>(index * bytes), static_cast<uint32_t>(bytes)};
      return result;
    };
    request.inputs = {argument(0), argument(1)};
    request.outputs = {argument(2)};
    FencedResult result = prepared_->executeFenced(request, {}, options(true), std::nullopt);
    HALYARD_RETURN_IF_ERROR(std::move(result.status));
    if (result.fence.valid()) {
      HALYARD_ASSIGN_OR_RETURN(const FenceState state,
                               waitFence(result.fence.get(), Clock::now() + kStepLimit));
      if (state == FenceState::PENDING) return badState("THE FENCE NEVER CHANGES");
    }
    Status status = result.execution->getExecutionInfo().status;
    if (status.ok()) {
      std::memcpy(out_.data(), mapping.data() + 2 * bytes, bytes);
      check();
    }
    return status;
  }
  Status burst() {
    Result<std::unique_ptr<Burst>> burst = prepared_->configureBurst();
    if (burst.status().code() == ResultCode::UNAVAILABLE_DEVICE) return okStatus();  // no bursts
    HALYARD_RETURN_IF_ERROR(burst.status());
    for (int i = 0; i < 2; ++i) {
      const ExecutionResult result = (*burst)->execute(request(), options(true));
      HALYARD_RETURN_IF_ERROR(result.status);
      check();
    }
    return okStatus();
  }
  Status buffer() {
    const std::vector<std::shared_ptr<PreparedModel>> models{prepared_};
    const std::vector<BufferRole> roles{{0, 0, 1.0f}};
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Buffer> buffer,
                             device_->allocate({}, models, roles, {}));
    const size_t bytes = kValues * sizeof(float);
    HALYARD_ASSIGN_OR_RETURN(const SharedMemoryPtr memory, SharedMemory::create(bytes, "crash"));
    HALYARD_RETURN_IF_ERROR(buffer->copyFrom(memory, {}));
    return buffer->copyTo(memory);
  }

  const std::shared_ptr<RpcLoop> loop_;
  const bool mayWait_;
  const std::shared_ptr<const Model> model_ = std::make_shared<const Model>(addModel(kValues));
  const std::vector<float> a_{1, 2, 3, 4};
  const std::vector<float> b_{10, 20, 30, 40};
  std::vector<float> out_ = std::vector<float>(kValues);
  std::shared_ptr<RemoteDevice> device_;
  std::shared_ptr<PreparedModel> prepared_;
  Outcome outcome_;
  bool right_ = true;
  Clock::duration longestStep_{};
};

std::vector<std::string> entriesOf(const char* path) {
  std::vector<std::string> entries;
  DIR* const dir = ::opendir(path);
  while (const dirent* entry = ::readdir(dir)) {
    if (entry->d_name[0] != '.') entries.push_back(entry->d_name);
  }
  ::closedir(dir);
  return entries;
}

// The resources that a process can leak.
struct Holdings {
  size_t descriptors = entriesOf("/proc/self/fd").size();
  size_t threads = entriesOf("/proc/self/task").size();
  size_t heap = ::mallinfo2().uordblks;
};

// The stride for points that take seconds each: 1 only when HALYARD_CRASH_ALL is set.
size_t strideOfSlow(size_t otherwise) {
  return std::getenv("HALYARD_CRASH_ALL") != nullptr ? 1 : otherwise;
}

bool hasChildren() { return ::waitpid(-1, nullptr, WNOHANG) == 0; }

class CrashPoints : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("HALYARD_CRASH_DRIVER", REFERENCE_DRIVER, 1);
    ::setenv("HALYARD_DRIVER_START_TIMEOUT_MS", "1500", 1);
    ::setenv("HALYARD_DRIVER_ANSWER_TIMEOUT_MS", "300", 1);
    loop_ = RpcLoop::start().value();
  }
  void TearDown() override { ::unsetenv(kPoint); }

  // The number of messages to the driver and from it, without a failure.
  std::map<std::string, size_t> countMessages() {
    // Tries again when the busy machine makes a call fail.
    for (int tries = 0; tries < 10; ++tries) {
      const auto counts = tryToCount();
      if (!counts.empty()) return counts;
    }
    ADD_FAILURE() << "the scenario does not complete";
    return {};
  }
  std::map<std::string, size_t> tryToCount() {
    const std::string path = ::testing::TempDir() + fmt::format("crash_points.{}", ::getpid());
    ::setenv(kLog, path.c_str(), 1);
    {
      Scenario scenario(loop_, /*mayWait=*/true);
      const Outcome outcome = scenario.run();
      EXPECT_TRUE(scenario.right());
      ::unsetenv(kLog);
      if (!outcome.step.empty()) {
        fmt::print("{}: {}\n", outcome.step, outcome.status.toString());
        ::unlink(path.c_str());
        return {};
      }
    }
    std::map<std::string, size_t> counts;
    std::ifstream log(path);
    for (std::string direction; log >> direction;) ++counts[direction];
    ::unlink(path.c_str());
    return counts;
  }

  // Runs the scenario with the point; returns its result as text.
  std::string runPoint(const std::string& point, bool mayWait) {
    ::setenv(kPoint, point.c_str(), 1);
    Scenario scenario(loop_, mayWait);
    const Outcome outcome = scenario.run();
    EXPECT_LT(scenario.longestStep(), kStepLimit);
    ::unsetenv(kPoint);
    if (!outcome.step.empty()) {
      EXPECT_GT(outcome.status.message().size(), 10u) << "no clear error";
      EXPECT_THAT(outcome.status.message(), ::testing::Not(::testing::HasSubstr("NEVER")));
      EXPECT_TRUE(scenario.recovers()) << "the device does not come back";
    }
    // A changed message may have any content.
    if (!point.ends_with(":corrupt") && !point.ends_with(":bit")) {
      EXPECT_TRUE(scenario.right()) << "a step has succeeded with wrong values";
    }
    if (outcome.step.empty()) return "completes";
    return fmt::format("{}: {}", outcome.step, outcome.status.toString());
  }

  // Every message in both directions, or each `stride`th.
  void runAll(const std::string& action, bool mayWait = true, size_t stride = 1) {
    const auto counts = countMessages();
    size_t points = 0;
    for (const char* direction : {"to", "from"}) {
      ASSERT_GT(counts.count(direction), 0u);
      for (size_t i = 0; i < counts.at(direction); i += stride, ++points) {
        const std::string point = fmt::format("{}:{}:{}", direction, i, action);
        SCOPED_TRACE(point);
        fmt::print("{:18} {}\n", point, runPoint(point, mayWait));
        std::fflush(stdout);
      }
    }
    EXPECT_GE(points * stride, 40u);
  }

  std::shared_ptr<RpcLoop> loop_;
};

TEST_F(CrashPoints, Kill) { runAll("kill"); }
TEST_F(CrashPoints, Stop) { runAll("stop", /*mayWait=*/true, strideOfSlow(4)); }
TEST_F(CrashPoints, Close) { runAll("close"); }
// The remaining process is killed at the end, after a delay.
TEST_F(CrashPoints, Linger) { runAll("linger", /*mayWait=*/true, strideOfSlow(12)); }
TEST_F(CrashPoints, Truncate) { runAll("truncate"); }
TEST_F(CrashPoints, DamagedHeader) { runAll("header"); }
TEST_F(CrashPoints, DamagedContent) { runAll("corrupt", /*mayWait=*/false); }
TEST_F(CrashPoints, DamagedBit) { runAll("bit", /*mayWait=*/false); }

// Through the C API. Each point needs a process, because a process looks for devices once.
TEST_F(CrashPoints, ThroughTheRuntime) {
  const std::string path = ::testing::TempDir() + fmt::format("crash_points.{}.json", ::getpid());
  std::ofstream(path) << fmt::format(
      R"({{"name": "halyard-crash", "version": "1", "hal_version": "1.3", "executable": "{}"}})",
      CRASH_RELAY);
  ::setenv("HALYARD_DRIVER_FILES", path.c_str(), 1);
  // The high speed makes the runtime choose this device, despite the cost of its link.
  const std::string personality = path + ".personality";
  std::ofstream(personality)
      << R"({"name": "halyard-crash", "version": "1", "type": "accelerator", "feature_level": 4,
             "capabilities": {"default": {"exec_time": 0.5, "power_usage": 0.5}}})";
  ::setenv("HALYARD_CRASH_PERSONALITY", personality.c_str(), 1);
  ::setenv("HALYARD_PARTITION_OVERHEAD", "off", 1);
  const std::string log = path + ".log";
  const auto runClient = [&](const std::string& point) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(60);  // against hangs
      if (!point.empty()) ::setenv(kPoint, point.c_str(), 1);
      if (point.empty()) ::setenv(kLog, log.c_str(), 1);
      ::execl(CRASH_CLIENT, CRASH_CLIENT, nullptr);
      std::_Exit(127);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
  };
  ASSERT_EQ(runClient(""), 0);
  std::map<std::string, size_t> counts;
  std::ifstream messages(log);
  for (std::string direction; messages >> direction;) ++counts[direction];
  ASSERT_GE(counts["to"] + counts["from"], 40u);
  for (const char* action : {"kill", "stop", "bit"}) {
    const size_t stride = std::string_view(action) == "stop" ? strideOfSlow(12) : 1;
    for (const char* direction : {"to", "from"}) {
      for (size_t i = 0; i < counts[direction]; i += stride) {
        const std::string point = fmt::format("{}:{}:{}", direction, i, action);
        fmt::print("{:18} ", point);
        std::fflush(stdout);
        const int status = runClient(point);
        EXPECT_EQ(status, 0) << point << ": exit status " << WEXITSTATUS(status) << ", signal "
                             << WTERMSIG(status);
      }
    }
  }
  ::unsetenv("HALYARD_DRIVER_FILES");
  ::unsetenv("HALYARD_CRASH_PERSONALITY");
  ::unsetenv("HALYARD_PARTITION_OVERHEAD");
  ::unlink(path.c_str());
  ::unlink(personality.c_str());
  ::unlink(log.c_str());
}

// $HALYARD_CRASH_ROUNDS rounds, 60 by default.
TEST_F(CrashPoints, NothingIsLeftBehind) {
  const char* const text = std::getenv("HALYARD_CRASH_ROUNDS");
  const size_t rounds = text != nullptr ? std::strtoul(text, nullptr, 10) : 60;
  const auto counts = countMessages();
  const size_t points = counts.at("to");
  Holdings before;
  for (size_t round = 0; round < rounds; ++round) {
    // The first rounds fill the memory that is never freed.
    if (round == rounds / 4) before = Holdings();
    ::setenv(kPoint, fmt::format("to:{}:kill", round % points).c_str(), 1);
    (void)Scenario(loop_, true).run();
  }
  // The threads that end a driver end themselves soon.
  for (const auto end = Clock::now() + kStepLimit; Clock::now() < end;) {
    const Holdings now;
    if (now.descriptors <= before.descriptors && now.threads <= before.threads && !hasChildren()) {
      break;
    }
    std::this_thread::sleep_for(milliseconds(10));
  }
  const Holdings after;
  fmt::print("{} rounds: descriptors {} -> {}, threads {} -> {}, heap {} -> {} KiB\n", rounds,
             before.descriptors, after.descriptors, before.threads, after.threads,
             before.heap / 1024, after.heap / 1024);
  EXPECT_LE(after.descriptors, before.descriptors);
  EXPECT_LE(after.threads, before.threads);
  EXPECT_FALSE(hasChildren());
#ifndef HALYARD_SANITIZED  // its allocator gives no figures
  // Less than 100 bytes a round is noise; more is a leak.
  EXPECT_LT(after.heap, before.heap + rounds * 100 + 65536);
#endif
}

}  // namespace
}  // namespace halyard::hal

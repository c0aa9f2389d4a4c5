// Tests of a client with a driver that is late, stopped or stuck: deadlines and execution limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "hal/client/driver_connection.h"
#include "hal/client/remote_device.h"
#include "hal/client/remote_prepared_model.h"
#include "hal/testing/test_device.h"
#include "hal/testing/test_driver_manifest.h"

namespace halyard::hal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace hal::testing;  // NOLINT: the test driver's vocabulary

// Limits hangs only. The benchmark has the real figures.
constexpr seconds kHangLimit{5};

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

class SilentDriver : public ::testing::Test {
 protected:
  void SetUp() override { loop_ = RpcLoop::start().value(); }

  void open(HalVersion version = HalVersion::V1_3,
            std::optional<milliseconds> startTimeout = std::nullopt) {
    auto device = RemoteDevice::open(loop_, testManifest(version), startTimeout);
    ASSERT_TRUE(device.ok()) << device.status().toString();
    device_ = *device;
    auto prepared = prepare();
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    prepared_ = *prepared;
  }
  Result<std::shared_ptr<PreparedModel>> prepare(const PrepareOptions& options = {}) {
    return device_->prepareModel(validated(addModel(2)).value(), options);
  }
  Status execute(float first, const ExecuteOptions& options = {}) {
    const float a[] = {first, 2};
    const float b[] = {10, 20};
    float out[2] = {};
    const auto result = prepared_->executeSynchronously(pointerRequest(a, b, out, 2), options);
    if (result.status.ok()) {
      EXPECT_EQ(out[0], first + 10);
      EXPECT_EQ(out[1], 22);
    }
    return result.status;
  }
  static ExecuteOptions by(milliseconds left) {
    ExecuteOptions options;
    options.deadline = Clock::now() + left;
    return options;
  }
  void send(int signal) const { ASSERT_EQ(::kill(device_->processId(), signal), 0); }

  std::shared_ptr<RpcLoop> loop_;
  std::shared_ptr<RemoteDevice> device_;
  std::shared_ptr<PreparedModel> prepared_;
};

TEST_F(SilentDriver, AnExecutionThatNeverEndsMissesItsDeadline) {
  open();
  const auto start = Clock::now();
  const Status status = execute(kHang, by(milliseconds(50)));
  EXPECT_GE(Clock::now() - start, milliseconds(50));
  EXPECT_LT(Clock::now() - start, kHangLimit);
  EXPECT_EQ(status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("driver 'test-driver'"), HasSubstr("executeSynchronously_1_3")));
  // The driver still serves other calls.
  EXPECT_TRUE(execute(1).ok());
}

TEST_F(SilentDriver, AStoppedDriverMissesDeadlinesAndServesOnWhenItIsContinued) {
  open();
  const pid_t pid = device_->processId();
  send(SIGSTOP);
  const auto start = Clock::now();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(execute(5, by(milliseconds(30))).code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  }
  PrepareOptions options;
  options.deadline = Clock::now() + milliseconds(30);
  EXPECT_EQ(prepare(options).status().code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_LT(Clock::now() - start, kHangLimit);
  send(SIGCONT);
  // Late answers have no effect. Late reads and writes use memory of their own.
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(execute(static_cast<float>(i)).ok());
  EXPECT_TRUE(prepare().ok());
  EXPECT_EQ(device_->processId(), pid);
}

TEST_F(SilentDriver, APassedDeadlineIsMissedAtOnce) {
  open();
  const Status executed = execute(1, by(milliseconds(-1)));
  EXPECT_EQ(executed.code(), ResultCode::MISSED_DEADLINE_PERSISTENT);
  EXPECT_THAT(executed.message(), HasSubstr("driver 'test-driver'"));
  PrepareOptions options;
  options.deadline = Clock::now() - milliseconds(1);
  EXPECT_EQ(prepare(options).status().code(), ResultCode::MISSED_DEADLINE_PERSISTENT);
  EXPECT_TRUE(execute(1, by(std::chrono::hours(1))).ok());
  ExecuteOptions unlimited;
  unlimited.deadline = TimePoint::max();
  EXPECT_TRUE(execute(1, unlimited).ok());
}

TEST_F(SilentDriver, BeforeHal13ThereAreNoDeadlines) {
  open(HalVersion::V1_2);
  EXPECT_TRUE(execute(1, by(milliseconds(-1))).ok());
  PrepareOptions options;
  options.deadline = Clock::now() - milliseconds(1);
  EXPECT_TRUE(prepare(options).ok());
}

TEST_F(SilentDriver, AStoppedDriverIsKilledInTheEnd) {
  const Variable limit("HALYARD_DRIVER_ANSWER_TIMEOUT_MS", "300");
  open();
  const pid_t pid = device_->processId();
  send(SIGSTOP);
  const auto start = Clock::now();
  const Status status = execute(1);
  EXPECT_LT(Clock::now() - start, 2 * kHangLimit);
  EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(status.message(), HasSubstr("has not answered anything for 300 ms and was killed"));
  EXPECT_THAT(execute(1).message(), HasSubstr("has not answered anything"));
  // The next preparation starts the driver again.
  auto prepared = prepare();
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  EXPECT_NE(device_->processId(), pid);
  prepared_ = *prepared;
  EXPECT_TRUE(execute(1).ok());
}

TEST_F(SilentDriver, ALongComputationIsNoSilence) {
  const Variable limit("HALYARD_DRIVER_ANSWER_TIMEOUT_MS", "300");
  open();
  const pid_t pid = device_->processId();
  // Five times the longest silence of a driver.
  EXPECT_EQ(execute(kHang, by(milliseconds(1500))).code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_TRUE(execute(1).ok());
  EXPECT_EQ(device_->processId(), pid);
}

// The driver answers other calls, but the execution does not end.
TEST_F(SilentDriver, AnExecutionWithoutADeadlineHasALimit) {
  const Variable limit("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS", "400");
  using Run = std::function<Status()>;
  const std::pair<const char*, Run> ways[] = {
      {"ring", [&] { return execute(kHang); }},
      {"call",
       [&] {
         std::static_pointer_cast<RemotePreparedModel>(prepared_)->useRings(false);
         return execute(kHang);
       }},
      {"burst", [&] {
         const float a[] = {kHang, 2};
         float out[2] = {};
         const auto burst = prepared_->configureBurst().value();
         return burst->execute(pointerRequest(a, a, out, 2), {}).status;
       }}};
  for (const auto& [what, run] : ways) {
    SCOPED_TRACE(what);
    open();
    const pid_t pid = device_->processId();
    const auto start = Clock::now();
    const Status status = run();
    EXPECT_GE(Clock::now() - start, milliseconds(400));
    EXPECT_LT(Clock::now() - start, kHangLimit);
    EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT) << status.toString();
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr(fmt::format("driver 'test-driver' (process {})", pid)),
                      HasSubstr("has not answered executeSynchronously_1_3 within 400 ms and was "
                                "killed")));
    // Its process has ended, and the next preparation starts another.
    const auto end = Clock::now() + seconds(20);
    while (::kill(pid, 0) == 0 && Clock::now() < end) std::this_thread::yield();
    EXPECT_NE(::kill(pid, 0), 0);
    prepared_ = prepare().value();
    EXPECT_NE(device_->processId(), pid);
    EXPECT_TRUE(execute(1).ok());
  }
}

TEST_F(SilentDriver, BeforeHal13AllExecutionsHaveTheLimit) {
  const Variable limit("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS", "400");
  for (const HalVersion version : {HalVersion::V1_0, HalVersion::V1_2}) {
    open(version);
    const Status status = execute(kHang, by(milliseconds(10)));
    EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT) << status.toString();
    EXPECT_THAT(status.message(), HasSubstr("within 400 ms"));
  }
}

TEST_F(SilentDriver, TheManifestSetsTheLimitUnlessTheEnvironmentDoes) {
  Manifest manifest = testManifest();
  EXPECT_EQ(driverExecutionTimeout(std::nullopt), std::chrono::minutes(5));
  manifest.executionTimeout = milliseconds(300);
  EXPECT_EQ(driverExecutionTimeout(manifest.executionTimeout), milliseconds(300));
  device_ = RemoteDevice::open(loop_, manifest).value();
  prepared_ = prepare().value();
  EXPECT_THAT(execute(kHang).message(), HasSubstr("within 300 ms"));
  const Variable limit("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS", "350");
  device_ = RemoteDevice::open(loop_, manifest).value();
  prepared_ = prepare().value();
  EXPECT_THAT(execute(kHang).message(), HasSubstr("within 350 ms"));
}

// An application's deadline replaces the limit, even if the deadline is later.
TEST_F(SilentDriver, TheLimitIsNotForExecutionsWithADeadline) {
  const Variable limit("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS", "200");
  open();
  const pid_t pid = device_->processId();
  EXPECT_EQ(execute(kHang, by(milliseconds(700))).code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_TRUE(execute(1).ok());
  EXPECT_EQ(device_->processId(), pid);
}

TEST_F(SilentDriver, APreparationWithoutADeadlineHasTheLimitToo) {
  open();
  send(SIGKILL);
  EXPECT_EQ(execute(1).code(), ResultCode::DEAD_OBJECT);
  const Variable mode("HALYARD_TEST_DRIVER", "slow");  // the preparation takes 250 ms
  const Variable limit("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS", "50");
  const Status status = prepare().status();
  EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT) << status.toString();
  EXPECT_THAT(status.message(), HasSubstr("has not answered prepareModel_1_3 within 50 ms"));
}

// All waiting callers get the error, not only the caller whose execution took too long.
TEST_F(SilentDriver, AHangEndsWhatElseWaits) {
  const Variable limit("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS", "400");
  open();
  Status other;
  std::thread patient([&] { other = execute(kHang, by(std::chrono::hours(1))); });
  EXPECT_EQ(execute(kHang).code(), ResultCode::DEAD_OBJECT);
  patient.join();
  EXPECT_EQ(other.code(), ResultCode::DEAD_OBJECT) << other.toString();
  EXPECT_THAT(other.message(), HasSubstr("has not answered"));
}

// Request for a fenced execution of addModel(2).
Request fencedRequest(float first) {
  Request request;
  for (uint32_t pool = 0; pool < 3; ++pool) {
    RequestArgument argument;
    argument.kind = RequestArgument::Kind::POOL;
    argument.location = {pool, 0, 2 * sizeof(float)};
    (pool < 2 ? request.inputs : request.outputs).push_back(argument);
    const auto memory = SharedMemory::create(2 * sizeof(float), "test").value();
    if (pool == 0) std::memcpy(memory->mapped().value()->data(), &first, sizeof first);
    request.pools.emplace_back(memory);
  }
  return request;
}

TEST_F(SilentDriver, AFencedExecutionWithoutADeadlineHasTheLimit) {
  const Variable limit("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS", "400");
  open();
  NewFence start = createFence().value();
  const std::vector<int> fences = {start.fence.get()};
  const FencedResult result =
      prepared_->executeFenced(fencedRequest(kHang), fences, {}, std::nullopt);
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  // The time before the fence is signalled does not count.
  EXPECT_EQ(waitFence(result.fence.get(), Clock::now() + milliseconds(900)).value(),
            FenceState::PENDING);
  const auto began = Clock::now();
  start.signaller.signal();
  EXPECT_EQ(waitFence(result.fence.get(), Clock::now() + seconds(60)).value(), FenceState::ERROR);
  EXPECT_GE(Clock::now() - began, milliseconds(400));
  const Status status = result.execution->getExecutionInfo().status;
  EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT) << status.toString();
  EXPECT_THAT(status.message(),
              HasSubstr("has not answered executeFenced within 400 ms and was killed"));
}

// A thread that waits for a fence makes no call, so the connection does not know of its wait.
TEST_F(SilentDriver, AFenceOfAStoppedDriverFailsInTheEnd) {
  const Variable limit("HALYARD_DRIVER_ANSWER_TIMEOUT_MS", "300");
  open();
  const Request request = fencedRequest(1);
  NewFence start = createFence().value();
  const std::vector<int> fences = {start.fence.get()};
  const FencedResult result = prepared_->executeFenced(request, fences, {}, std::nullopt);
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  send(SIGSTOP);
  EXPECT_EQ(waitFence(result.fence.get(), Clock::now() + seconds(60)).value(), FenceState::ERROR);
  EXPECT_THAT(result.execution->getExecutionInfo().status.message(),
              HasSubstr("has not answered anything for 300 ms and was killed"));
}

TEST_F(SilentDriver, AStartThatTakesTooLongMissesTheDeadlineAndGoesOn) {
  open(HalVersion::V1_3, milliseconds(1000));
  send(SIGKILL);
  EXPECT_EQ(execute(1).code(), ResultCode::DEAD_OBJECT);
  PrepareOptions options;
  {
    const Variable mode("HALYARD_TEST_DRIVER", "silent");
    const auto start = Clock::now();
    options.deadline = start + milliseconds(30);
    const Status late = prepare(options).status();
    EXPECT_LT(Clock::now() - start, milliseconds(900));
    EXPECT_EQ(late.code(), ResultCode::MISSED_DEADLINE_TRANSIENT) << late.toString();
    EXPECT_THAT(late.message(), HasSubstr("has not started by the deadline"));
    // A later caller gets the result of that start.
    const Status failed = prepare().status();
    EXPECT_EQ(failed.code(), ResultCode::DEAD_OBJECT) << failed.toString();
    EXPECT_THAT(failed.message(), HasSubstr("within 1000 ms of its start"));
  }
  auto prepared = prepare();
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  prepared_ = *prepared;
  EXPECT_TRUE(execute(1).ok());
}

}  // namespace
}  // namespace halyard::hal

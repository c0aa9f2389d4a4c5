// Tests of fenced execution in a session. They follow the HAL's rules for executeFenced, row by
// row.
#include "hal/session/fenced_execution.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/thread_sanitizer.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/testing/fenced_results.h"
#include "hal/testing/test_device.h"

namespace halyard::hal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace hal::testing;  // NOLINT: the test device's vocabulary

constexpr float kA[] = {1, 2, 3, 4};
constexpr float kB[] = {10, 20, 30, 40};

class FencedExecutionTest : public ::testing::Test {
 protected:
  FencedExecutionTest() : prepared_(prepare(4)) {}

  std::shared_ptr<PreparedModel> prepare(uint32_t n) {
    auto prepared = session_->prepareModel(validated(addModel(n)).value(), {});
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
    return std::move(*prepared);
  }
  FencedResult run(const std::vector<int>& waitFor, const ExecuteOptions& options = {},
                   std::optional<std::chrono::nanoseconds> duration = std::nullopt,
                   const float* a = kA) {
    return prepared_->executeFenced(pointerRequest(a, kB, out_.data(), 4), waitFor, options,
                                    duration);
  }
  void expectRefused(const FencedResult& result, ResultCode code, const std::string& text) {
    EXPECT_EQ(result.status.code(), code) << result.status.toString();
    EXPECT_THAT(result.status.message(), HasSubstr(text));
    EXPECT_FALSE(result.fence.valid());
    EXPECT_EQ(result.execution, nullptr);
  }
  void expectSums() { EXPECT_THAT(out_, ElementsAre(11, 22, 33, 44)); }
  void expectUntouched() { EXPECT_EQ(out_, std::vector<float>(4)); }

  std::shared_ptr<TestDevice> device_ = std::make_shared<TestDevice>();
  std::shared_ptr<SessionServices> services_ = std::make_shared<SessionServices>();
  std::shared_ptr<ClientSession> session_ = std::make_shared<ClientSession>(device_, services_);
  std::shared_ptr<PreparedModel> prepared_;
  std::vector<float> out_ = std::vector<float>(4);
};

void expectNoTimes(const FencedInfo& info) {
  for (const Timing& timing : {info.launched, info.fenced}) {
    EXPECT_FALSE(timing.timeOnDevice.has_value());
    EXPECT_FALSE(timing.timeInDriver.has_value());
  }
}

TEST_F(FencedExecutionTest, WithoutFencesItRunsAtOnce) {
  const FencedResult result = run({});
  EXPECT_EQ(waitFor(result), FenceState::SIGNALLED);
  expectSums();
  const FencedInfo info = result.execution->getExecutionInfo();
  EXPECT_TRUE(info.status.ok()) << info.status.toString();
  expectNoTimes(info);
}

TEST_F(FencedExecutionTest, WaitsForEveryFenceOfAnyKind) {
  NewFence fence = createFence().value();
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  NewFence before = createFence().value();
  before.signaller.signal();
  const FencedResult result = run({fence.fence.get(), event.get(), before.fence.get()});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(fenceState(result.fence.get()).value(), FenceState::PENDING);
  const FencedInfo early = result.execution->getExecutionInfo();
  EXPECT_EQ(early.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(early.status.message(), HasSubstr("not completed"));
  expectNoTimes(early);
  fence.signaller.signal();
  EXPECT_EQ(fenceState(result.fence.get()).value(), FenceState::PENDING);
  expectUntouched();
  sanitizerRelease(sanitizerFences());
  ASSERT_EQ(::eventfd_write(event.get(), 1), 0);
  EXPECT_EQ(waitFor(result), FenceState::SIGNALLED);
  expectSums();
}

TEST_F(FencedExecutionTest, CallersDescriptorsMayBeClosed) {
  NewFence fence = createFence().value();
  const FencedResult result = run({fence.fence.get()});
  fence.fence.reset();
  fence.signaller.signal();
  EXPECT_EQ(waitFor(result), FenceState::SIGNALLED);
}

TEST_F(FencedExecutionTest, BadFencesAreRefused) {
  NewFence failed = createFence().value();
  failed.signaller.fail();
  const NewFence good = createFence().value();
  expectRefused(run({good.fence.get(), failed.fence.get()}), ResultCode::BAD_DATA,
                "fence 1 of 2 is in its error state");
  expectRefused(run({-1}), ResultCode::BAD_DATA, "fence 0 of 1");
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  expectRefused(run({file.get()}), ResultCode::BAD_DATA, "expected a fence");
}

TEST_F(FencedExecutionTest, BadRequestsAreRefused) {
  Request request = pointerRequest(kA, nullptr, out_.data(), 4);
  expectRefused(prepared_->executeFenced(request, {}, {}, {}), ResultCode::BAD_DATA, "1 inputs");
  request = pointerRequest(kA, kB, out_.data(), 4);
  request.outputs.clear();
  expectRefused(prepared_->executeFenced(request, {}, {}, {}), ResultCode::BAD_DATA, "0 outputs");
  request = pointerRequest(kA, kB, out_.data(), 4);
  request.outputs[0].length = 15;
  expectRefused(prepared_->executeFenced(request, {}, {}, {}), ResultCode::BAD_DATA,
                "15 bytes for TENSOR_FLOAT32[4], which needs 16");
}

TEST_F(FencedExecutionTest, OutputsHaveToBeKnown) {
  prepared_ = prepare(0);
  Request request = pointerRequest(kA, kB, out_.data(), 4);
  request.outputs[0].dimensions.clear();
  expectRefused(prepared_->executeFenced(request, {}, {}, {}), ResultCode::BAD_DATA, "output 0");
  request.outputs[0].dimensions = {0};
  expectRefused(prepared_->executeFenced(request, {}, {}, {}), ResultCode::BAD_DATA, "output 0");
  request.outputs[0].dimensions = {4};
  EXPECT_EQ(waitFor(prepared_->executeFenced(request, {}, {}, {})), FenceState::SIGNALLED);
  expectSums();
}

TEST_F(FencedExecutionTest, FenceThatFailsLaterFailsTheExecutionAtOnce) {
  NewFence fence = createFence().value();
  const NewFence never = createFence().value();
  const FencedResult result = run({never.fence.get(), fence.fence.get()});
  ASSERT_TRUE(result.status.ok());
  fence.signaller.fail();
  EXPECT_EQ(waitFor(result), FenceState::ERROR);
  const FencedInfo info = result.execution->getExecutionInfo();
  EXPECT_EQ(info.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(info.status.message(), HasSubstr("error state"));
  expectUntouched();
}

TEST_F(FencedExecutionTest, ErrorRunsDownAChain) {
  NewFence first = createFence().value();
  std::vector<FencedResult> chain;
  for (int i = 0; i < 20; ++i) {
    chain.push_back(run({i == 0 ? first.fence.get() : chain.back().fence.get()}));
    ASSERT_TRUE(chain.back().status.ok()) << chain.back().status.toString();
  }
  first.signaller.fail();
  for (const FencedResult& link : chain) {
    EXPECT_EQ(waitFor(link), FenceState::ERROR);
    EXPECT_EQ(link.execution->getExecutionInfo().status.code(), ResultCode::OP_FAILED);
  }
  expectUntouched();
}

TEST_F(FencedExecutionTest, DeadlineThatHasPassedIsRefused) {
  ExecuteOptions options;
  options.deadline = Clock::now();
  expectRefused(run({}, options), ResultCode::MISSED_DEADLINE_PERSISTENT, "deadline");
  const NewFence never = createFence().value();
  expectRefused(run({never.fence.get()}, options), ResultCode::MISSED_DEADLINE_PERSISTENT,
                "deadline");
}

TEST_F(FencedExecutionTest, DeadlineCountsWhileFencesArePending) {
  const NewFence never = createFence().value();
  ExecuteOptions options;
  options.deadline = Clock::now() + milliseconds(20);
  const FencedResult result = run({never.fence.get()}, options, hours(1));
  EXPECT_EQ(waitFor(result), FenceState::ERROR);
  EXPECT_GE(Clock::now(), *options.deadline);
  EXPECT_EQ(result.execution->getExecutionInfo().status.code(),
            ResultCode::MISSED_DEADLINE_PERSISTENT);
}

TEST_F(FencedExecutionTest, DurationCountsFromTheLastSignal) {
  NewFence fence = createFence().value();
  const FencedResult patient = run({fence.fence.get()}, {}, hours(1));
  const FencedResult hurried = run({fence.fence.get()}, {}, std::chrono::nanoseconds(1));
  ASSERT_TRUE(patient.status.ok() && hurried.status.ok());
  EXPECT_EQ(fenceState(hurried.fence.get()).value(), FenceState::PENDING);
  fence.signaller.signal();
  EXPECT_EQ(waitFor(patient), FenceState::SIGNALLED);
  EXPECT_EQ(waitFor(hurried), FenceState::ERROR);
  EXPECT_EQ(hurried.execution->getExecutionInfo().status.code(),
            ResultCode::MISSED_DEADLINE_PERSISTENT);
  // The longest duration causes no overflow.
  EXPECT_EQ(waitFor(run({}, {}, std::chrono::nanoseconds::max())), FenceState::SIGNALLED);
}

TEST_F(FencedExecutionTest, DeadlineCountsWhileAllWorkersAreBusy) {
  const std::vector<float> endless(4, kUntilCancelled);
  std::vector<std::vector<float>> outputs(8, std::vector<float>(4));
  std::vector<FencedResult> busy;
  for (std::vector<float>& out : outputs) {
    busy.push_back(
        prepared_->executeFenced(pointerRequest(endless.data(), kB, out.data(), 4), {}, {}, {}));
  }
  ExecuteOptions options;
  options.deadline = Clock::now() + milliseconds(20);
  for (const FencedResult& result : {run({}, options), run({}, {}, milliseconds(20))}) {
    EXPECT_EQ(waitFor(result), FenceState::ERROR);
    EXPECT_EQ(result.execution->getExecutionInfo().status.code(),
              ResultCode::MISSED_DEADLINE_PERSISTENT);
  }
  session_->end();
  for (const FencedResult& result : busy) EXPECT_EQ(waitFor(result), FenceState::ERROR);
}

TEST_F(FencedExecutionTest, DriversErrorIsTold) {
  const std::vector<float> throws(4, kThrow);
  const FencedResult failed = run({}, {}, {}, throws.data());
  EXPECT_EQ(waitFor(failed), FenceState::ERROR);
  const FencedInfo info = failed.execution->getExecutionInfo();
  EXPECT_EQ(info.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(info.status.message(), HasSubstr("the test wants it"));
  expectNoTimes(info);
  const std::vector<float> small(4, kTooSmall);
  const FencedResult insufficient = run({}, {}, {}, small.data());
  EXPECT_EQ(waitFor(insufficient), FenceState::ERROR);
  EXPECT_EQ(insufficient.execution->getExecutionInfo().status.code(),
            ResultCode::OUTPUT_INSUFFICIENT_SIZE);
}

TEST_F(FencedExecutionTest, TimesIncludeTheWait) {
  NewFence fence = createFence().value();
  ExecuteOptions options;
  options.measureTiming = true;
  const TimePoint start = Clock::now();
  const FencedResult result = run({fence.fence.get()}, options);
  const TimePoint launched = Clock::now();
  std::this_thread::sleep_for(milliseconds(10));
  const auto waited = static_cast<uint64_t>((Clock::now() - launched).count());
  fence.signaller.signal();
  EXPECT_EQ(waitFor(result), FenceState::SIGNALLED);
  const auto whole = static_cast<uint64_t>((Clock::now() - start).count());
  const FencedInfo info = result.execution->getExecutionInfo();
  ASSERT_TRUE(info.status.ok());
  // The test device reports 2 ms on the device and 3 ms in the driver.
  constexpr uint64_t kInDriver = 3'000'000;
  EXPECT_EQ(info.launched.timeOnDevice, 2'000'000u);
  EXPECT_EQ(info.fenced.timeOnDevice, 2'000'000u);
  ASSERT_TRUE(info.launched.timeInDriver && info.fenced.timeInDriver);
  EXPECT_GE(*info.launched.timeInDriver, waited + kInDriver);
  EXPECT_LE(*info.launched.timeInDriver, whole + kInDriver);
  EXPECT_GE(*info.fenced.timeInDriver, kInDriver);
  EXPECT_LE(*info.fenced.timeInDriver, *info.launched.timeInDriver - waited);
}

TEST_F(FencedExecutionTest, EndOfTheSessionFailsWhatWaitsAndWhatRuns) {
  const NewFence never = createFence().value();
  const FencedResult waiting = run({never.fence.get()});
  const std::vector<float> endless(4, kUntilCancelled);
  std::vector<float> other(4);
  const FencedResult running = prepared_->executeFenced(
      pointerRequest(endless.data(), kB, other.data(), 4), {}, {}, std::nullopt);
  ASSERT_TRUE(waiting.status.ok() && running.status.ok());
  session_->end();
  EXPECT_EQ(waitFor(waiting), FenceState::ERROR);
  EXPECT_EQ(waitFor(running), FenceState::ERROR);
  EXPECT_THAT(waiting.execution->getExecutionInfo().status.message(), HasSubstr("client"));
  EXPECT_FALSE(running.execution->getExecutionInfo().status.ok());
  EXPECT_FALSE(run({}).status.ok());
}

// The end comes at another instant of the start each time.
TEST_F(FencedExecutionTest, ClientMayEndWhileAnExecutionStarts) {
  const NewFence never = createFence().value();
  const std::shared_ptr<FencedLimit> limit = services_->fences()->openClient();
  for (int i = 0; i < 500; ++i) {
    std::stop_source client;
    std::atomic<bool> begins = false;
    std::thread ending([&] {
      while (!begins) {
      }
      const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(200 * i);
      while (std::chrono::steady_clock::now() < end) {
      }
      client.request_stop();
    });
    FencedCall call{.run = [](const ExecuteOptions&) { return ExecutionResult{}; },
                    .options = {},
                    .duration = {},
                    .ended = client.get_token(),
                    .limit = limit};
    const int fence = never.fence.get();
    std::vector<ForeignFd> pending = takePending({&fence, 1}).value();
    begins = true;
    const FencedResult result =
        startFenced(services_->fences(), std::move(call), std::move(pending));
    ending.join();
    if (result.status.ok()) {
      EXPECT_EQ(waitFor(result), FenceState::ERROR);
    } else {
      EXPECT_THAT(result.status.message(), HasSubstr("client"));
    }
  }
  EXPECT_TRUE(limit->take(FencedLimit::kMaxDescriptors).ok()) << "all descriptors are given back";
}

// The thread of the end may be one that serves all clients.
TEST_F(FencedExecutionTest, ARunThatDoesNotHappenIsDestroyedByTheExecutor) {
  const NewFence never = createFence().value();
  const auto destroyed = std::make_shared<std::promise<std::thread::id>>();
  std::stop_source client;
  std::shared_ptr<void> model(
      nullptr, [destroyed](std::nullptr_t) { destroyed->set_value(std::this_thread::get_id()); });
  FencedCall call{.run = [model](const ExecuteOptions&) { return ExecutionResult{}; },
                  .options = {},
                  .duration = {},
                  .ended = client.get_token(),
                  .limit = services_->fences()->openClient()};
  const int fence = never.fence.get();
  const FencedResult result =
      startFenced(services_->fences(), std::move(call), takePending({&fence, 1}).value());
  ASSERT_TRUE(result.status.ok());
  model.reset();
  client.request_stop();
  EXPECT_NE(destroyed->get_future().get(), std::this_thread::get_id());
}

TEST_F(FencedExecutionTest, AnythingMayBeLetGoOfFirst) {
  NewFence fence = createFence().value();
  FencedResult result = run({fence.fence.get()});
  ASSERT_TRUE(result.status.ok());
  result.execution.reset();
  prepared_.reset();
  services_.reset();
  EXPECT_EQ(device_->preparedModels(), 1u) << "the execution needs it";
  fence.signaller.signal();
  EXPECT_EQ(waitFor(result), FenceState::SIGNALLED);
  expectSums();
  EXPECT_EQ(device_->preparedModels(), 0u) << "let go of before the fence signals";
}

TEST_F(FencedExecutionTest, ClientMayNotHoldAnyNumberOfDescriptors) {
  const NewFence never = createFence().value();
  const std::vector<int> many(1000, never.fence.get());
  std::vector<FencedResult> pending;
  for (;;) {
    pending.push_back(run(many));
    if (!pending.back().status.ok()) break;
    ASSERT_LT(pending.size(), 100u);
  }
  EXPECT_EQ(pending.back().status.code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
  EXPECT_EQ(pending.size(), FencedLimit::kMaxDescriptors / 1001 + 1);
  // Another client is not affected. The same client is not affected after the end of its
  // executions.
  ClientSession other(device_, services_);
  auto prepared = other.prepareModel(validated(addModel(4)).value(), {});
  ASSERT_TRUE(prepared.ok());
  const FencedResult elsewhere =
      (*prepared)->executeFenced(pointerRequest(kA, kB, out_.data(), 4), many, {}, std::nullopt);
  EXPECT_TRUE(elsewhere.status.ok()) << elsewhere.status.toString();
  EXPECT_EQ(waitFor(run({})), FenceState::SIGNALLED) << "one more has room";
  other.end();
  EXPECT_EQ(waitFor(elsewhere), FenceState::ERROR);
}

// A client whose executions do not end leaves a thread for other clients.
TEST_F(FencedExecutionTest, ClientCannotTakeAllWorkers) {
  const std::vector<float> endless(4, kUntilCancelled);
  std::vector<std::vector<float>> outputs(20, std::vector<float>(4));
  std::vector<FencedResult> pending;
  for (std::vector<float>& out : outputs) {
    pending.push_back(prepared_->executeFenced(pointerRequest(endless.data(), kB, out.data(), 4),
                                               {}, {}, std::nullopt));
    ASSERT_TRUE(pending.back().status.ok());
  }
  ClientSession other(device_, services_);
  auto prepared = other.prepareModel(validated(addModel(4)).value(), {});
  ASSERT_TRUE(prepared.ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(waitFor((*prepared)->executeFenced(pointerRequest(kA, kB, out_.data(), 4), {}, {},
                                                 std::nullopt)),
              FenceState::SIGNALLED);
  }
  expectSums();
  session_->end();
  // The executions read and write the memory of this function until they end.
  for (const FencedResult& result : pending) EXPECT_EQ(waitFor(result), FenceState::ERROR);
}

}  // namespace
}  // namespace halyard::hal

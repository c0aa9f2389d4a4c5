// Tests of sync fences and executions with dependencies through the C API, on the CPU device.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "api/api_for_test.h"
#include "halyard/driver/sync_fence.h"

namespace halyard::api::testing {
namespace {

constexpr auto kStart = ANeuralNetworksExecution_startComputeWithDependencies;

client::Event eventFrom(int fd) {
  client::Event event;
  EXPECT_NN_OK(event.createFromSyncFenceFd(fd));
  return event;
}

class FencedApi : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = addModel({2}, {2}, {2});
    ASSERT_NN_OK(model_.finish());
    compilation_ = compileFor(model_.get(), deviceNamed(kCpuDevice));
  }
  // out = a + b
  client::Execution executionOf(const std::vector<float>& a, const std::vector<float>& b,
                                std::vector<float>& out) {
    auto execution = newExecution(compilation_.get());
    EXPECT_NN_OK(execution.setInput(0, nullptr, a.data(), 8));
    EXPECT_NN_OK(execution.setInput(1, nullptr, b.data(), 8));
    EXPECT_NN_OK(execution.setOutput(0, nullptr, out.data(), 8));
    return execution;
  }
  client::Event start(ANeuralNetworksExecution* execution,
                      const std::vector<const ANeuralNetworksEvent*>& dependencies,
                      uint64_t duration = 0) {
    ANeuralNetworksEvent* event = nullptr;
    EXPECT_NN_OK(kStart(execution, dependencies.data(), static_cast<uint32_t>(dependencies.size()),
                        duration, &event));
    return client::Event(event);
  }
  static FenceState stateOf(const ANeuralNetworksEvent* event) {
    int fd = -1;
    EXPECT_NN_OK(ANeuralNetworksEvent_getSyncFenceFd(event, &fd));
    const UniqueFd owner(fd);
    return fenceState(fd).value();
  }

  const std::vector<float> a_ = {1, 2};
  const std::vector<float> b_ = {10, 20};
  std::vector<float> out_ = {0, 0};
  client::Model model_;
  client::Compilation compilation_;
};

TEST_F(FencedApi, NullsAreCheckedInOrder) {
  const auto execution = executionOf(a_, b_, out_);
  const auto event = eventFrom(::eventfd(1, 0));
  auto* const stale = reinterpret_cast<ANeuralNetworksEvent*>(&out_);
  ANeuralNetworksEvent* result = stale;
  EXPECT_NN_ERROR(kStart(nullptr, nullptr, 0, 0, nullptr), ANEURALNETWORKS_UNEXPECTED_NULL,
                  "event is null");
  EXPECT_NN_ERROR(kStart(nullptr, nullptr, 0, 0, &result), ANEURALNETWORKS_UNEXPECTED_NULL,
                  "execution is null");
  EXPECT_EQ(result, nullptr);
  result = stale;
  EXPECT_NN_ERROR(kStart(execution.get(), nullptr, 1, 0, &result), ANEURALNETWORKS_UNEXPECTED_NULL,
                  "dependencies is null");
  EXPECT_EQ(result, nullptr);
  const ANeuralNetworksEvent* const list[] = {event.get(), nullptr};
  EXPECT_NN_ERROR(kStart(execution.get(), list, 2, 0, &result), ANEURALNETWORKS_UNEXPECTED_NULL,
                  "dependencies[1] is null");
  int fd = 7;
  EXPECT_NN_ERROR(ANeuralNetworksEvent_getSyncFenceFd(event.get(), nullptr),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "sync_fence_fd is null");
  EXPECT_NN_ERROR(ANeuralNetworksEvent_getSyncFenceFd(nullptr, &fd),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "event is null");
  EXPECT_EQ(fd, -1);
  EXPECT_NN_ERROR(ANeuralNetworksEvent_createFromSyncFenceFd(3, nullptr),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "event is null");
  // The failed calls have not started the execution.
  EXPECT_NN_OK(ANeuralNetworksEvent_wait(start(execution.get(), {event.get()}).get()));
}

TEST_F(FencedApi, EventsOfDescriptors) {
  for (const int fd : {0, -1, 1 << 30}) {
    ANeuralNetworksEvent* event = reinterpret_cast<ANeuralNetworksEvent*>(&out_);
    EXPECT_NN_ERROR(ANeuralNetworksEvent_createFromSyncFenceFd(fd, &event),
                    ANEURALNETWORKS_BAD_DATA, "descriptor");
    EXPECT_EQ(event, nullptr);
  }
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  ANeuralNetworksEvent* none = nullptr;
  EXPECT_NN_ERROR(ANeuralNetworksEvent_createFromSyncFenceFd(file.get(), &none),
                  ANEURALNETWORKS_BAD_DATA, "expected a fence");

  NewFence fence = createFence().value();
  const auto event = eventFrom(fence.fence.get());
  fence.fence.reset();  // the event has a duplicate
  int fd = -1;
  EXPECT_NN_OK(event.getSyncFenceFd(fd));
  const UniqueFd first(fd);
  EXPECT_NN_OK(event.getSyncFenceFd(fd));
  const UniqueFd second(fd);
  EXPECT_NE(first.get(), second.get());
  EXPECT_EQ(fenceState(first.get()).value(), FenceState::PENDING);
  fence.signaller.signal();
  EXPECT_NN_OK(event.wait());
  EXPECT_EQ(fenceState(second.get()).value(), FenceState::SIGNALLED);

  NewFence failing = createFence().value();
  const auto bad = eventFrom(failing.fence.get());
  failing.signaller.fail();
  for (int i = 0; i < 2; ++i) {
    EXPECT_NN_ERROR(bad.wait(), ANEURALNETWORKS_OP_FAILED, "error state");
  }
}

TEST_F(FencedApi, WaitsForItsDependencies) {
  NewFence fence = createFence().value();
  const auto dependency = eventFrom(fence.fence.get());
  const auto execution = executionOf(a_, b_, out_);
  const auto event = start(execution.get(), {dependency.get()});
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(stateOf(event.get()), FenceState::PENDING);
  // The execution counts as running until a thread waits for it.
  ANeuralNetworksEvent* other = nullptr;
  EXPECT_NN_ERROR(kStart(execution.get(), nullptr, 0, 0, &other), ANEURALNETWORKS_BAD_STATE,
                  "being computed");
  uint64_t duration = 0;
  EXPECT_NN_ERROR(execution.getDuration(0, duration), ANEURALNETWORKS_BAD_STATE,
                  "is being computed");
  fence.signaller.signal();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      if (event.wait() != ANEURALNETWORKS_NO_ERROR) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(out_, (std::vector<float>{11, 22}));
  EXPECT_EQ(stateOf(event.get()), FenceState::SIGNALLED);
  uint32_t rank = 0;
  EXPECT_NN_OK(execution.getOutputOperandRank(0, rank));
  EXPECT_EQ(rank, 1u);
}

TEST_F(FencedApi, AChainComputesInOrder) {
  NewFence fence = createFence().value();
  std::vector<client::Execution> executions;
  std::vector<client::Event> events;
  std::vector<std::vector<float>> values(21, std::vector<float>(2));
  events.push_back(eventFrom(fence.fence.get()));
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    executions.push_back(executionOf(values[i], b_, values[i + 1]));
    events.push_back(start(executions.back().get(), {events.back().get(), events.front().get()}));
  }
  values[0] = {1, 2};
  fence.signaller.signal();
  EXPECT_NN_OK(ANeuralNetworksEvent_wait(events.back().get()));
  EXPECT_EQ(values.back(), (std::vector<float>{201, 402}));
  events.clear();  // the order does not matter, because all have ended
}

TEST_F(FencedApi, ErrorsGoDownAChain) {
  NewFence fence = createFence().value();
  const auto dependency = eventFrom(fence.fence.get());
  std::vector<float> more(2);
  const auto first = executionOf(a_, b_, out_);
  const auto second = executionOf(out_, b_, more);
  const auto firstEvent = start(first.get(), {dependency.get()});
  const auto secondEvent = start(second.get(), {firstEvent.get()});
  fence.signaller.fail();
  EXPECT_NN_ERROR(secondEvent.wait(), ANEURALNETWORKS_OP_FAILED, "error state");
  EXPECT_NN_ERROR(firstEvent.wait(), ANEURALNETWORKS_OP_FAILED, "error state");
  EXPECT_EQ(stateOf(firstEvent.get()), FenceState::ERROR);
  EXPECT_EQ(more, (std::vector<float>{0, 0}));
  uint32_t rank = 0;
  EXPECT_NN_ERROR(first.getOutputOperandRank(0, rank), ANEURALNETWORKS_BAD_STATE, "failed");
  // A fence in its error state is refused, and the execution ends.
  const auto third = executionOf(a_, b_, more);
  const ANeuralNetworksEvent* const list[] = {firstEvent.get()};
  ANeuralNetworksEvent* event = nullptr;
  EXPECT_NN_ERROR(kStart(third.get(), list, 1, 0, &event), ANEURALNETWORKS_BAD_DATA, "error state");
  EXPECT_EQ(event, nullptr);
  EXPECT_NN_ERROR(third.compute(), ANEURALNETWORKS_BAD_STATE, "has been computed");
}

TEST_F(FencedApi, DependenciesWithoutFencesAreWaitedFor) {
  std::vector<float> more(2);
  const auto first = executionOf(a_, b_, out_);
  client::Event dependency;
  ASSERT_NN_OK(first.startCompute(dependency));
  const auto second = executionOf(out_, b_, more);
  const auto event = start(second.get(), {dependency.get()});
  EXPECT_NN_OK(event.wait());
  EXPECT_EQ(more, (std::vector<float>{21, 42}));
}

TEST_F(FencedApi, WhatCannotBeStarted) {
  std::vector<float> out(2);
  ANeuralNetworksEvent* event = nullptr;
  const auto empty = newExecution(compilation_.get());
  EXPECT_NN_ERROR(kStart(empty.get(), nullptr, 0, 0, &event), ANEURALNETWORKS_BAD_DATA,
                  "input 0 has not been set");
  EXPECT_EQ(event, nullptr);

  model_ = addModel({2}, {2}, {0});
  ASSERT_NN_OK(model_.finish());
  compilation_ = compileFor(model_.get(), deviceNamed(kCpuDevice));
  const auto unknown = executionOf(a_, b_, out);
  EXPECT_NN_ERROR(kStart(unknown.get(), nullptr, 0, 0, &event), ANEURALNETWORKS_BAD_DATA,
                  "output 0 has dimensions [?]");
  EXPECT_NN_ERROR(unknown.compute(), ANEURALNETWORKS_BAD_STATE, "has been computed");

  ANeuralNetworksCompilation* any = nullptr;
  ASSERT_NN_OK(ANeuralNetworksCompilation_create(model_.get(), &any));
  compilation_.reset(any);
  ASSERT_NN_OK(ANeuralNetworksCompilation_finish(any));
  const auto anywhere = executionOf(a_, b_, out);
  EXPECT_NN_ERROR(kStart(anywhere.get(), nullptr, 0, 1, &event), ANEURALNETWORKS_BAD_DATA,
                  "exactly one device");
}

TEST_F(FencedApi, TimeoutAndDuration) {
  NewFence never = createFence().value();
  const auto dependency = eventFrom(never.fence.get());
  const auto late = executionOf(a_, b_, out_);
  EXPECT_NN_OK(late.setTimeout(20'000'000));
  const auto event = start(late.get(), {dependency.get()}, UINT64_MAX);
  EXPECT_NN_ERROR(event.wait(), ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT, "deadline");
  const auto hurried = executionOf(a_, b_, out_);
  EXPECT_NN_ERROR(ANeuralNetworksEvent_wait(start(hurried.get(), {}, 1).get()),
                  ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT, "deadline");
  // The fence of `dependency` must end before the event.
  never.signaller.signal();
}

TEST_F(FencedApi, ReusableAndTimed) {
  const auto execution = executionOf(a_, b_, out_);
  EXPECT_NN_OK(execution.setReusable(true));
  EXPECT_NN_OK(execution.setMeasureTiming(true));
  for (int i = 0; i < 5; ++i) {
    out_ = {0, 0};
    const auto event = start(execution.get(), {});
    EXPECT_NN_OK(event.wait());
    EXPECT_EQ(out_, (std::vector<float>{11, 22}));
    for (int32_t code = 0; code < 4; ++code) {
      uint64_t duration = 1;
      EXPECT_NN_OK(execution.getDuration(code, duration));
      EXPECT_TRUE(duration == 0 || duration == UINT64_MAX) << "the CPU device has no times";
    }
  }
  ASSERT_NN_OK(execution.compute());
  // The event is freed without a wait. Its free function waits.
  (void)start(execution.get(), {});
  ASSERT_NN_OK(execution.compute());
}

}  // namespace
}  // namespace halyard::api::testing

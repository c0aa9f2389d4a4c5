// Tests of executions on devices that fail: other devices compute the results, and the report
// contains the events.
#include <random>
#include <thread>

#include "runtime/testing/plan_test_support.h"

namespace halyard::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum OperationType;
using enum ReportEvent::Kind;

// out = (a + a) * a - a; the three operations run on test-0, test-1 and the CPU device.
class StepRecoveryTest : public ::testing::Test {
 protected:
  StepRecoveryTest() {
    ::setenv("HALYARD_LOG", "quiet", 1);
    GraphBuilder graph(model_.get(), &model_->main);
    const uint32_t a = graph.input({2});
    const uint32_t t1 = graph.floats({2});
    const uint32_t t2 = graph.floats({2});
    const uint32_t out = graph.output({2});
    graph.binary(ADD, a, a, t1);
    graph.binary(MUL, t1, a, t2);
    graph.binary(SUB, t2, a, out);
  }

  void makeRunner(bool explicitDevices = false) {
    runner_ = runnerOf(model_, planOf(*model_, {&devices_.at(0), &devices_.at(1), &devices_.at(3)}),
                       devices_, explicitDevices);
  }

  // Runs the plan and expects correct results.
  void expectRight(int times = 1) {
    for (int i = 0; i < times; ++i) {
      Arguments arguments{{{3, -2}}, {{0, 0}}, {}};
      const auto result = run(*runner_, arguments);
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
      EXPECT_THAT(arguments.outputs[0], ElementsAre(15, 10));
    }
  }
  Status failure() {
    Arguments arguments{{{3, -2}}, {{0, 0}}, {}};
    return run(*runner_, arguments).status;
  }
  std::vector<ReportEvent> events() { return runner_->recovery().context().report->events(); }

  static std::function<Status(int)> failsWith(ResultCode code, std::string text) {
    return [=](int) { return Status(code, text); };
  }

  // Two devices of the plan and a spare device, beside the CPU device.
  TestDevices devices_{3};
  std::shared_ptr<Model> model_ = std::make_shared<Model>();
  std::unique_ptr<PlanRunner> runner_;
};

TEST_F(StepRecoveryTest, AFailedStepIsComputedByAnotherDeviceFromThenOn) {
  makeRunner();
  devices_.script(0).beforeExecution = failsWith(ResultCode::OP_FAILED, "out of sorts");
  expectRight(3);
  EXPECT_EQ(devices_.script(0).executions, 1);
  EXPECT_EQ(devices_.script(1).executions, 6);  // its own step and the step of test-0
  EXPECT_THAT(kindsOf(*runner_), ElementsAre(EXECUTION_FAILED, OTHER_DEVICE));
  const ReportEvent event = events()[1];
  EXPECT_EQ(event.device, "test-0");
  EXPECT_EQ(event.target, "test-1");
  EXPECT_EQ(event.partition, 0);
  EXPECT_THAT(event.operations, ElementsAre(0));
  EXPECT_THAT(event.cause, HasSubstr("OP_FAILED: partition 0 on device test-0: out of sorts"));
}

TEST_F(StepRecoveryTest, TheCpuTakesWhatNoOtherDeviceTakes) {
  makeRunner();
  devices_.script(0).beforeExecution = failsWith(ResultCode::OP_FAILED, "out of sorts");
  devices_.script(1).unsupported = {ADD};
  devices_.script(2).prepare = [] { return opFailed("no memory for models"); };
  expectRight(3);
  EXPECT_EQ(devices_.script(0).executions, 1);
  EXPECT_EQ(devices_.script(1).executions, 3);
  EXPECT_EQ(devices_.script(2).prepared, 1);
  EXPECT_THAT(kindsOf(*runner_), ElementsAre(EXECUTION_FAILED, CPU_FALLBACK));
  EXPECT_EQ(events()[1].target, "nnapi-reference");
}

TEST_F(StepRecoveryTest, ADeviceThatHasFailedIsNotAskedAgain) {
  makeRunner();
  devices_.script(1).beforeExecution = failsWith(ResultCode::OP_FAILED, "one");
  devices_.script(2).beforeExecution = failsWith(ResultCode::OP_FAILED, "two");
  expectRight(1);  // step 1 goes to test-0
  devices_.script(0).beforeExecution = failsWith(ResultCode::OP_FAILED, "zero");
  expectRight(3);  // test-2 gets both steps and fails; then the CPU device gets them
  EXPECT_EQ(devices_.script(1).executions, 1);
  EXPECT_EQ(devices_.script(2).executions, 2);
  EXPECT_EQ(devices_.script(0).executions, 4);
  EXPECT_THAT(kindsOf(*runner_),
              ElementsAre(EXECUTION_FAILED, OTHER_DEVICE, EXECUTION_FAILED, EXECUTION_FAILED,
                          CPU_FALLBACK, EXECUTION_FAILED, EXECUTION_FAILED, CPU_FALLBACK));
}

TEST_F(StepRecoveryTest, ADriverThatDiesIsStartedAgain) {
  makeRunner();
  std::atomic<int> waits = 0;
  devices_.script(0).wait = [&] {
    ++waits;
    return okStatus();
  };
  expectRight();
  devices_.script(0).die();
  expectRight(3);
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(devices_.script(0).prepared, 2);
  EXPECT_EQ(devices_.script(0).executions, 5);
  EXPECT_THAT(kindsOf(*runner_), ElementsAre(EXECUTION_FAILED, DRIVER_RESTARTED, RETRIED));
  EXPECT_THAT(events()[2].cause, HasSubstr("DEAD_OBJECT"));
}

TEST_F(StepRecoveryTest, ADriverThatDoesNotComeBackIsReplaced) {
  makeRunner();
  devices_.script(0).wait = [] { return Status(ResultCode::UNAVAILABLE_DEVICE, "not found"); };
  devices_.script(0).die();
  expectRight(2);
  EXPECT_EQ(devices_.script(0).executions, 1);
  EXPECT_THAT(kindsOf(*runner_), ElementsAre(EXECUTION_FAILED, OTHER_DEVICE));
}

TEST_F(StepRecoveryTest, ADriverThatDiesEachTimeIsReplaced) {
  makeRunner();
  devices_.script(0).beforeExecution = [&](int) {
    devices_.script(0).die();
    return okStatus();
  };
  expectRight(3);
  EXPECT_EQ(devices_.script(0).executions, 2);
  EXPECT_THAT(kindsOf(*runner_),
              ElementsAre(EXECUTION_FAILED, DRIVER_RESTARTED, EXECUTION_FAILED, OTHER_DEVICE));
}

TEST_F(StepRecoveryTest, ADriverThatDiesNowAndThenIsNotStartedForEver) {
  makeRunner();
  devices_.script(0).beforeExecution = [&](int number) {
    if (number % 3 == 0) devices_.script(0).die();
    return okStatus();
  };
  expectRight(100);
  EXPECT_EQ(devices_.script(0).prepared, 6);
  EXPECT_LT(devices_.script(0).executions, 30);
  EXPECT_EQ(kindsOf(*runner_).back(), OTHER_DEVICE);
}

TEST_F(StepRecoveryTest, OneDeathIsOneForAllStepsOfTheDevice) {
  auto model = std::make_shared<Model>();
  GraphBuilder graph(model.get(), &model->main);
  uint32_t last = graph.input({2});
  std::vector<const Device*> by;
  for (int i = 0; i < 20; ++i) {
    const uint32_t next = i == 19 ? graph.output({2}) : graph.floats({2});
    graph.binary(ADD, last, last, next);
    last = next;
    by.push_back(&devices_.at(i % 2));
  }
  const auto runner = runnerOf(model, planOf(*model, by), devices_);
  for (int death = 0; death < 3; ++death) {
    devices_.script(0).die();
    Arguments arguments{{{1, 2}}, {{0, 0}}, {}};
    const auto result = run(*runner, arguments);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_THAT(arguments.outputs[0], ElementsAre(1 << 20, 2 << 20));
  }
  const auto kinds = kindsOf(*runner);
  EXPECT_EQ(std::ranges::count(kinds, RETRIED), 30);
  EXPECT_EQ(std::ranges::count(kinds, OTHER_DEVICE), 0);
}

TEST_F(StepRecoveryTest, WhatFailsEverywhereIsNotTheDevicesFault) {
  // GATHER with an index out of range fails on each device.
  auto model = std::make_shared<Model>();
  GraphBuilder graph(model.get(), &model->main);
  const uint32_t a = graph.input({2});
  const uint32_t index = graph.operand(OperandType::TENSOR_INT32, {1}, Lifetime::SUBGRAPH_INPUT);
  const uint32_t t = graph.floats({1});
  const uint32_t out = graph.output({1});
  graph.operation(GATHER, {a, graph.scalar(0), index}, {t});
  graph.operation(RELU, {t}, {out});
  const auto runner = runnerOf(model, planOf(*model, {&devices_.at(0), &devices_.at(1)}), devices_);
  const MemoryArguments none;
  float values[] = {4, 5};
  float result = 0;
  const auto gather = [&](int32_t from) {
    hal::Request request;
    const auto pointer = [](void* at, uint32_t length) {
      hal::RequestArgument argument;
      argument.kind = hal::RequestArgument::Kind::POINTER;
      argument.pointer = at;
      argument.length = length;
      return argument;
    };
    request.inputs = {pointer(values, 8), pointer(&from, 4)};
    request.outputs = {pointer(&result, 4)};
    return runner->run({request, none}, {}, nullptr).status;
  };
  EXPECT_TRUE(gather(1).ok());
  const Status status = gather(7);
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED) << status.toString();
  EXPECT_THAT(status.message(), HasSubstr("GATHER"));
  EXPECT_FALSE(gather(-5).ok());
  const int before = devices_.script(0).executions;
  EXPECT_TRUE(gather(0).ok());
  EXPECT_EQ(result, 4);
  EXPECT_EQ(devices_.script(0).executions, before + 1);
  EXPECT_EQ(devices_.script(2).prepared, 1);  // once, not for each failure
}

TEST_F(StepRecoveryTest, TransientFailuresCountWhenTheyRepeat) {
  makeRunner();
  devices_.script(0).beforeExecution = [](int number) {
    return number == 1 ? Status(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, "busy") : okStatus();
  };
  expectRight(5);
  EXPECT_EQ(devices_.script(0).executions, 5);
  devices_.script(0).beforeExecution = failsWith(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, "busy");
  expectRight(5);
  EXPECT_EQ(devices_.script(0).executions, 7);
}

TEST_F(StepRecoveryTest, NamedDevicesAreNotReplaced) {
  makeRunner(true);
  devices_.script(1).beforeExecution = failsWith(ResultCode::OP_FAILED, "out of sorts");
  const Status status = failure();
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
  EXPECT_EQ(status.message(), "partition 1 on device test-1: out of sorts");
  devices_.script(1).beforeExecution = nullptr;
  expectRight();
  devices_.script(1).die();
  EXPECT_EQ(failure().code(), ResultCode::DEAD_OBJECT);
  EXPECT_EQ(devices_.script(1).prepared, 1);
}

TEST_F(StepRecoveryTest, MissedDeadlinesAreFinal) {
  makeRunner();
  devices_.script(1).beforeExecution = failsWith(ResultCode::MISSED_DEADLINE_TRANSIENT, "late");
  EXPECT_EQ(failure().code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_THAT(kindsOf(*runner_), ElementsAre());
}

TEST_F(StepRecoveryTest, StrictModeRefuses) {
  makeRunner();
  ::setenv("HALYARD_REQUIRE_DEVICE", "test-0,test-1,nnapi-referenc", 1);
  devices_.script(1).beforeExecution = failsWith(ResultCode::OP_FAILED, "out of sorts");
  devices_.script(0).unsupported = {MUL};
  const Status status = failure();
  ::unsetenv("HALYARD_REQUIRE_DEVICE");
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(status.message(), HasSubstr("HALYARD_REQUIRE_DEVICE"));
  EXPECT_THAT(status.message(), HasSubstr("out of sorts"));
  EXPECT_THAT(kindsOf(*runner_), ElementsAre(EXECUTION_FAILED, STRICT_REFUSED));
}

TEST_F(StepRecoveryTest, ResultsThatCannotBeAreFailures) {
  makeRunner();
  devices_.script(0).afterExecution = [](hal::ExecutionResult& result) {
    result.outputShapes = {{{3}, true}};
  };
  devices_.script(1).afterExecution = [](hal::ExecutionResult& result) {
    result.status = Status(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "too small");
    result.outputShapes = {{{2}, false}};
  };
  expectRight(2);
  EXPECT_EQ(devices_.script(0).executions, 1);
  EXPECT_EQ(devices_.script(1).executions, 2);  // its own step, then the step of test-0
}

TEST_F(StepRecoveryTest, SimplePlansRecoverAsWell) {
  auto plan = planOf(*model_, {&devices_.at(0), &devices_.at(0), &devices_.at(0)});
  plan->simple = true;
  runner_ = runnerOf(model_, plan, devices_);
  expectRight();
  devices_.script(0).die();
  expectRight(2);
  devices_.script(0).beforeExecution = failsWith(ResultCode::OP_FAILED, "out of sorts");
  devices_.script(1).unsupported = {MUL};
  expectRight(2);
  devices_.script(2).beforeExecution = failsWith(ResultCode::DEAD_OBJECT, "gone");
  expectRight(2);
  EXPECT_THAT(kindsOf(*runner_), ElementsAre(EXECUTION_FAILED, DRIVER_RESTARTED, RETRIED,
                                             EXECUTION_FAILED, OTHER_DEVICE, EXECUTION_FAILED,
                                             DRIVER_RESTARTED, EXECUTION_FAILED, CPU_FALLBACK));
}

TEST_F(StepRecoveryTest, BadArgumentsAreNotTheDevicesFault) {
  makeRunner();
  Arguments arguments{{{3, -2}}, {{0, 0}}, {{3}}};
  EXPECT_EQ(run(*runner_, arguments).status.code(), ResultCode::BAD_DATA);
  EXPECT_THAT(kindsOf(*runner_), ElementsAre());
}

TEST_F(StepRecoveryTest, ValuesWithoutElementsAreForTheCpuAlone) {
  // t = PAD of a slice of size 0. The tensor has a rank but no elements.
  auto model = std::make_shared<Model>();
  GraphBuilder graph(model.get(), &model->main);
  const uint32_t a = graph.input({4});
  const uint32_t begin = graph.operand(OperandType::TENSOR_INT32, {1}, Lifetime::SUBGRAPH_INPUT);
  const uint32_t end = graph.operand(OperandType::TENSOR_INT32, {1}, Lifetime::SUBGRAPH_INPUT);
  const int32_t one = 1;
  const uint32_t stride = graph.constant(OperandType::TENSOR_INT32, {1}, &one, 4);
  const uint32_t t = graph.floats({0});
  const uint32_t out = graph.output({0});
  graph.operation(STRIDED_SLICE,
                  {a, begin, end, stride, graph.scalar(0), graph.scalar(0), graph.scalar(0)}, {t});
  graph.operation(RELU, {t}, {out});
  const auto runner = runnerOf(model, planOf(*model, {&devices_.at(0), &devices_.at(1)}), devices_);
  const MemoryArguments none;
  float values[] = {1, 2, 3, 4};
  float results[4] = {};
  const auto slice = [&](int32_t from, int32_t to) {
    hal::Request request;
    const auto pointer = [](void* at, uint32_t length) {
      hal::RequestArgument argument;
      argument.kind = hal::RequestArgument::Kind::POINTER;
      argument.pointer = at;
      argument.length = length;
      return argument;
    };
    request.inputs = {pointer(values, 16), pointer(&from, 4), pointer(&to, 4)};
    request.outputs = {pointer(results, 16)};
    return runner->run({request, none}, {}, nullptr);
  };
  ASSERT_TRUE(slice(1, 3).status.ok());
  EXPECT_EQ(results[1], 3);
  const auto empty = slice(2, 2);
  // No device failure is reported. The result of the CPU device does not matter.
  const auto kinds = kindsOf(*runner);
  EXPECT_EQ(std::ranges::count(kinds, EXECUTION_FAILED), 0) << empty.status.toString();
  ASSERT_TRUE(slice(0, 4).status.ok());
  EXPECT_EQ(devices_.script(1).executions, 2);
}

TEST_F(StepRecoveryTest, ThreadsShareOneRecovery) {
  makeRunner();
  std::vector<std::thread> threads;
  std::atomic<int> started = 0;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      ++started;
      for (int k = 0; k < 50; ++k) expectRight();
    });
  }
  while (started < 16) std::this_thread::yield();
  devices_.script(0).die();
  devices_.script(1).die();
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(devices_.script(0).prepared, 2);
  EXPECT_LE(devices_.script(1).prepared, 2);
  expectRight();
}

}  // namespace
}  // namespace halyard::runtime::testing

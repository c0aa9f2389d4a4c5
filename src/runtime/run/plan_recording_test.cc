// Tests of executions that are computed repeatedly. A device records them once. They are recorded
// again when another device or another burst computes them.
#include "runtime/run/plan_recording.h"

#include "runtime/testing/plan_test_support.h"

namespace halyard::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum OperationType;

class PlanRecordingTest : public ::testing::Test {
 protected:
  PlanRecordingTest() {
    ::setenv("HALYARD_LOG", "quiet", 1);
    GraphBuilder graph(model_.get(), &model_->main);
    const uint32_t a = graph.input({2});
    graph.binary(ADD, a, a, graph.output({2}));
    auto plan = planOf(*model_, {&devices_.at(0)});
    plan->simple = true;
    runner_ = runnerOf(model_, plan, devices_);
  }
  hal::ExecutionResult compute(float value, PlanBurst* burst = nullptr) {
    arguments_.inputs[0] = {value, -value};
    return runner_->run({request_, none_, &recording_}, {}, burst);
  }
  void expectRight(float value, PlanBurst* burst = nullptr) {
    const auto result = compute(value, burst);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_THAT(arguments_.outputs[0], ElementsAre(2 * value, -2 * value));
  }

  TestDevices devices_{2};
  std::shared_ptr<Model> model_ = std::make_shared<Model>();
  std::unique_ptr<PlanRunner> runner_;
  Arguments arguments_{{{0, 0}}, {{0, 0}}, {}};
  const hal::Request request_ = arguments_.request();
  const MemoryArguments none_;
  PlanRecording recording_;
};

TEST_F(PlanRecordingTest, TheDeviceRecordsOnce) {
  for (float value = 1; value < 20; ++value) expectRight(value);
  EXPECT_EQ(devices_.script(0).recorded, 1);
  EXPECT_EQ(devices_.script(0).executions, 19);
}

TEST_F(PlanRecordingTest, OthersAreNotRecorded) {
  EXPECT_TRUE(run(*runner_, arguments_).status.ok());
  EXPECT_EQ(devices_.script(0).recorded, 0);
}

TEST_F(PlanRecordingTest, EachBurstRecordsItself) {
  auto first = std::make_unique<PlanBurst>(*runner_);
  expectRight(1, first.get());
  expectRight(2, first.get());
  EXPECT_EQ(devices_.script(0).recorded, 1);
  first = std::make_unique<PlanBurst>(*runner_);
  expectRight(3, first.get());
  expectRight(4, first.get());
  EXPECT_EQ(devices_.script(0).recorded, 2);
  expectRight(5);
  EXPECT_EQ(devices_.script(0).recorded, 3);
}

TEST_F(PlanRecordingTest, AnotherDeviceRecordsAfterAFailure) {
  expectRight(1);
  devices_.script(0).beforeExecution = [](int) { return opFailed("out of sorts"); };
  expectRight(2);
  expectRight(3);
  EXPECT_EQ(devices_.script(0).recorded, 1);
  EXPECT_EQ(devices_.script(1).recorded, 1);
  EXPECT_EQ(devices_.script(1).executions, 2);
}

TEST_F(PlanRecordingTest, ADriverThatStartedAgainRecordsAgain) {
  expectRight(1);
  devices_.script(0).die();
  expectRight(2);
  expectRight(3);
  EXPECT_EQ(devices_.script(0).recorded, 2);
}

// out = (a + a) * a; each operation runs on another device.
class StepRecordingTest : public ::testing::Test {
 protected:
  StepRecordingTest() {
    ::setenv("HALYARD_LOG", "quiet", 1);
    GraphBuilder graph(model_.get(), &model_->main);
    const uint32_t a = graph.input({2});
    const uint32_t t = graph.floats({2});
    graph.binary(ADD, a, a, t);
    graph.binary(MUL, t, a, graph.output({2}));
    runner_ = runnerOf(model_, planOf(*model_, {&devices_.at(0), &devices_.at(1)}), devices_);
  }
  void expectRight(Arguments& arguments, float value) {
    arguments.inputs[0] = {value, -1};
    const hal::Request request = arguments.request();
    const auto result = runner_->run({request, none_, &recording_}, {}, nullptr);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_THAT(arguments.outputs[0], ElementsAre(2 * value * value, 2));
  }

  TestDevices devices_{2};
  std::shared_ptr<Model> model_ = std::make_shared<Model>();
  std::unique_ptr<PlanRunner> runner_;
  const MemoryArguments none_;
  PlanRecording recording_;
};

TEST_F(StepRecordingTest, EachDeviceRecordsItsStepOnce) {
  Arguments arguments{{{0, 0}}, {{0, 0}}, {}};
  // The arguments keep the same memory.
  arguments.inputs[0].reserve(2);
  const auto run = [&](float value) {
    float* const input = arguments.inputs[0].data();
    expectRight(arguments, value);
    ASSERT_EQ(arguments.inputs[0].data(), input);
  };
  for (float value = 1; value < 20; ++value) run(value);
  EXPECT_EQ(devices_.script(0).recorded, 1);
  EXPECT_EQ(devices_.script(1).recorded, 1);
  EXPECT_EQ(devices_.script(1).executions, 19);
}

TEST_F(StepRecordingTest, AStepThatKeepsChangingIsNotRecordedForEver) {
  std::vector<Arguments> all(30, Arguments{{{0, 0}}, {{0, 0}}, {}});
  for (size_t i = 0; i < all.size(); ++i) expectRight(all[i], static_cast<float>(i + 1));
  EXPECT_EQ(devices_.script(0).recorded, 9) << "the first time, and 8 times again";
  EXPECT_EQ(devices_.script(0).executions, 30);
}

TEST_F(StepRecordingTest, AStepThatMovesIsRecordedThere) {
  Arguments arguments{{{0, 0}}, {{0, 0}}, {}};
  expectRight(arguments, 1);
  devices_.script(0).beforeExecution = [](int) { return opFailed("out of sorts"); };
  expectRight(arguments, 2);
  expectRight(arguments, 3);
  EXPECT_EQ(devices_.script(0).recorded, 1);
  EXPECT_EQ(devices_.script(1).recorded, 2) << "its own step, and that of test-0";
}

TEST_F(PlanRecordingTest, ARefusalIsTheExecutionsError) {
  auto plan = planOf(*model_, {&devices_.at(0)});
  plan->simple = true;
  runner_ = runnerOf(model_, plan, devices_, true);
  devices_.script(0).record = [] { return opFailed("no room"); };
  EXPECT_THAT(compute(1).status.toString(), HasSubstr("no room"));
  EXPECT_EQ(devices_.script(0).executions, 0);
  devices_.script(0).record = nullptr;
  expectRight(2);
}

}  // namespace
}  // namespace halyard::runtime::testing

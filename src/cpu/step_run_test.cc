// Tests of subgraphs that run by steps: kernels in bodies of control flow, and errors. Unplanned
// arguments take the other way, or are refused.
#include "cpu/step_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "cpu/executor.h"
#include "cpu/executor_for_test.h"
#include "cpu/model_for_test.h"
#include "cpu/model_run.h"
#include "cpu/step_plan.h"
#include "model/validation/validation.h"

namespace halyard::cpu {
namespace {

using testing::argumentOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TestModel;

constexpr OperandType kInt32 = OperandType::TENSOR_INT32;
constexpr OperandType kBool8 = OperandType::TENSOR_BOOL8;

// Multiplies all elements with a factor, in place of RELU. So results show which kernel has run.
class Scaling final : public Kernel {
 public:
  Scaling(float factor, size_t count) : factor_(factor), count_(count) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    auto* const scratch = static_cast<float*>(services.scratch(count_ * sizeof(float)));
    services.parallelFor(count_, 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) scratch[i] = operands.input<float>(0)[i] * factor_;
    });
    std::copy_n(scratch, count_, operands.output<float>(0));
    return factor_ != 0 ? okStatus() : opFailed("the factor is 0");
  }

 private:
  const float factor_;
  const size_t count_;
};

// One step for each operation; RELU has a kernel.
std::shared_ptr<StepPlan> stepsOf(const SubgraphPlan& plan, float factor) {
  std::vector<Step> steps;
  const std::vector<Operation>& operations = plan.subgraph->operations;
  for (size_t i = 0; i < operations.size(); ++i) {
    Step step{i, operations[i].inputs, operations[i].outputs, operations[i].inputs, nullptr};
    if (operations[i].type == OperationType::RELU) {
      const size_t count = plan.tensors[step.outputs[0]].elementCount();
      step.kernel = std::make_unique<Scaling>(factor, count);
    }
    steps.push_back(std::move(step));
  }
  return planSteps(plan, std::move(steps));
}

ExecutionPlan plannedFrom(const TestModel& test) {
  const auto model = test.share();
  EXPECT_TRUE(validateModel(*model).ok()) << validateModel(*model).status().toString();
  auto plan = ExecutionPlan::make(model);
  EXPECT_TRUE(plan.ok()) << plan.status().toString();
  return std::move(*plan);
}

// An executor whose bodies have steps where they can have them.
struct Bodies {
  explicit Bodies(const TestModel& test, float factor = 100) {
    ExecutionPlan plan = plannedFrom(test);
    for (SubgraphPlan& body : plan.referenced) {
      if (!canHaveSteps(body)) continue;
      body.steps = stepsOf(body, factor);
      ++withSteps;
    }
    executor = Executor::create(std::make_shared<const ExecutionPlan>(std::move(plan)), nullptr);
  }

  size_t withSteps = 0;
  std::shared_ptr<Executor> executor;
};

// x -> relu(x + 1).
TestModel body(const Shape& dims = {2}) {
  TestModel test;
  const uint32_t x = test.input(dims);
  const uint32_t one = test.constant<float>(OperandType::TENSOR_FLOAT32, {1}, {1});
  const uint32_t sum = test.temporary(dims);
  test.add(x, one, sum).operation(OperationType::RELU, {sum}, {test.output(dims)});
  return test;
}

// if condition: body, else: -x.
TestModel branch(const Shape& dims = {2}) {
  TestModel other;
  other.operation(OperationType::NEG, {other.input(dims)}, {other.output(dims)});
  TestModel test;
  const uint32_t condition = test.input({1}, kBool8);
  const uint32_t x = test.input(dims);
  const uint32_t yes = test.reference(body(dims));
  const uint32_t no = test.reference(other);
  test.operation(OperationType::IF, {condition, yes, no, x}, {test.output(dims)});
  return test;
}

hal::ExecutionResult runBranch(Executor& executor, uint8_t condition, std::vector<float>* out,
                               const hal::ExecuteOptions& options = {}) {
  std::vector<uint8_t> flag{condition};
  std::vector<float> x{1, 2};
  out->assign(2, -7);
  const std::vector<Argument> inputs{argumentOf(flag), argumentOf(x, {2})};
  const std::vector<Argument> outputs{argumentOf(*out)};
  return executor.execute(inputs, outputs, options);
}

TEST(StepRun, BranchesRunTheKernelsOfTheirSteps) {
  const Bodies test(branch());
  EXPECT_EQ(test.withSteps, 2u);
  std::vector<float> out;
  for (int use = 0; use < 2; ++use) {
    ASSERT_TRUE(runBranch(*test.executor, 1, &out).status.ok());
    EXPECT_THAT(out, ElementsAre(200, 300));
    ASSERT_TRUE(runBranch(*test.executor, 0, &out).status.ok());
    EXPECT_THAT(out, ElementsAre(-1, -2));
  }
}

TEST(StepRun, BodiesOfUnknownSizesRunOperationByOperation) {
  const Bodies test(branch({0}));
  EXPECT_EQ(test.withSteps, 0u);
  std::vector<float> out;
  ASSERT_TRUE(runBranch(*test.executor, 1, &out).status.ok());
  EXPECT_THAT(out, ElementsAre(2, 3));
}

TEST(StepRun, RepeatedExecutionsRunTheSteps) {
  const Bodies test(branch());
  std::vector<uint8_t> flag{1};
  std::vector<float> x{1, 2};
  std::vector<float> out(2);
  const std::vector<Argument> inputs{argumentOf(flag), argumentOf(x)};
  const std::vector<Argument> outputs{argumentOf(out)};
  const auto series = test.executor->makeSeries(inputs, outputs);
  for (float first : {1.0f, 5.0f}) {
    x[0] = first;
    ASSERT_TRUE(series->execute({}).status.ok());
    EXPECT_THAT(out, ElementsAre((first + 1) * 100, 300));
  }
}

TEST(StepRun, ErrorsOfKernelsNameTheWayThere) {
  const Bodies test(branch(), 0);
  std::vector<float> out;
  const auto result = runBranch(*test.executor, 1, &out);
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(result.status.message(),
              HasSubstr("operation #0 IF: then-model: operation #1 RELU: the factor is 0"));
}

// n, x -> n + 1, relu(x). The condition is n < limit.
TestModel loop(int32_t limit) {
  TestModel condition;
  {
    const uint32_t n = condition.input({1}, kInt32);
    condition.input({2});
    const uint32_t bound = condition.constant<int32_t>(kInt32, {1}, {limit});
    condition.operation(OperationType::LESS, {n, bound}, {condition.output({1}, kBool8)});
  }
  TestModel turn;
  {
    const uint32_t n = turn.input({1}, kInt32);
    const uint32_t x = turn.input({2});
    const uint32_t one = turn.constant<int32_t>(kInt32, {1}, {1});
    turn.add(n, one, turn.output({1}, kInt32));
    turn.operation(OperationType::RELU, {x}, {turn.output({2})});
  }
  TestModel test;
  const uint32_t n = test.input({1}, kInt32);
  const uint32_t x = test.input({2});
  const uint32_t conditionModel = test.reference(condition);
  const uint32_t turnModel = test.reference(turn);
  test.operation(OperationType::WHILE, {conditionModel, turnModel, n, x},
                 {test.output({1}, kInt32), test.output({2})});
  return test;
}

hal::ExecutionResult runLoop(Executor& executor, int32_t from, std::vector<float>* out,
                             const hal::ExecuteOptions& options = {}) {
  std::vector<int32_t> n{from};
  std::vector<int32_t> last(1);
  std::vector<float> x{1, 3};
  out->assign(2, -7);
  const std::vector<Argument> inputs{argumentOf(n), argumentOf(x)};
  const std::vector<Argument> outputs{argumentOf(last), argumentOf(*out)};
  return executor.execute(inputs, outputs, options);
}

// A counter is an integer tensor that inference does not read.
TEST(StepRun, LoopsRunTheKernelsOfTheirSteps) {
  const Bodies test(loop(5), 2);
  EXPECT_EQ(test.withSteps, 2u);
  std::vector<float> out;
  ASSERT_TRUE(runLoop(*test.executor, 2, &out).status.ok());
  EXPECT_THAT(out, ElementsAre(8, 24));
  ASSERT_TRUE(runLoop(*test.executor, 5, &out).status.ok());
  EXPECT_THAT(out, ElementsAre(1, 3));
}

TEST(StepRun, LoopsOfStepsKeepDeadlinesAndEndWhenCancelled) {
  const Bodies test(loop(INT32_MAX), 1);
  std::vector<float> out;
  hal::ExecuteOptions options;
  options.loopTimeout = std::chrono::milliseconds(5);
  auto result = runLoop(*test.executor, 0, &out, options);
  EXPECT_EQ(result.status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_THAT(result.status.message(), HasSubstr("WHILE: the loop has not ended within"));
  options.loopTimeout = std::chrono::seconds(10);
  options.deadline = hal::Clock::now() + std::chrono::milliseconds(5);
  EXPECT_EQ(runLoop(*test.executor, 0, &out, options).status.code(),
            ResultCode::MISSED_DEADLINE_TRANSIENT);
  std::stop_source source;
  options.deadline.reset();
  options.cancel = source.get_token();
  std::jthread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    source.request_stop();
  });
  EXPECT_EQ(runLoop(*test.executor, 0, &out, options).status.code(), ResultCode::OP_FAILED);
}

// The value of the first iteration is omitted; the body does not read it.
TEST(StepRun, OmittedValuesRunOperationByOperation) {
  TestModel condition;
  {
    const uint32_t n = condition.input({1}, kInt32);
    condition.input({2});
    const uint32_t bound = condition.constant<int32_t>(kInt32, {1}, {3});
    condition.operation(OperationType::LESS, {n, bound}, {condition.output({1}, kBool8)});
  }
  TestModel turn;
  {
    const uint32_t n = turn.input({1}, kInt32);
    turn.input({2});
    const uint32_t one = turn.constant<int32_t>(kInt32, {1}, {1});
    turn.add(n, one, turn.output({1}, kInt32));
    const uint32_t x = turn.constant<float>(OperandType::TENSOR_FLOAT32, {2}, {4, 5});
    turn.operation(OperationType::RELU, {x}, {turn.output({2})});
  }
  TestModel test;
  const uint32_t n = test.input({1}, kInt32);
  const uint32_t x = test.input({2});
  const uint32_t conditionModel = test.reference(condition);
  const uint32_t turnModel = test.reference(turn);
  test.operation(OperationType::WHILE, {conditionModel, turnModel, n, x},
                 {test.output({1}, kInt32), test.output({2})});
  const Bodies bodies(test);
  EXPECT_EQ(bodies.withSteps, 2u);
  for (int32_t from : {2, 1}) {
    std::vector<int32_t> first{from};
    std::vector<int32_t> last(1);
    std::vector<float> out(2);
    const std::vector<Argument> inputs{argumentOf(first), Argument{}};
    const std::vector<Argument> outputs{argumentOf(last), argumentOf(out)};
    const auto result = bodies.executor->execute(inputs, outputs, {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    // The second iteration has all values, and runs by steps.
    if (from == 2) {
      EXPECT_THAT(out, ElementsAre(4, 5));
    } else {
      EXPECT_THAT(out, ElementsAre(400, 500));
    }
  }
}

TEST(StepRun, LargeValuesOfBodiesAreGivenBack) {
  const Shape large = {1 << 16};
  std::vector<size_t> peaks;
  const Bodies test(branch(large));
  for (int use = 0; use < 3; ++use) {
    std::vector<uint8_t> flag{1};
    std::vector<float> x(large[0], 1);
    std::vector<float> out(large[0]);
    const std::vector<Argument> inputs{argumentOf(flag), argumentOf(x)};
    const std::vector<Argument> outputs{argumentOf(out)};
    ASSERT_TRUE(test.executor->execute(inputs, outputs, {}).status.ok());
    EXPECT_THAT(out, Each(200));
    peaks.push_back(test.executor->memoryUse().peak);
  }
  EXPECT_GT(peaks[0], large[0] * sizeof(float));
  EXPECT_EQ(peaks[0], peaks[2]);
}

// Divides nothing.
class Inline final : public KernelScratch {
 public:
  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t begin, size_t end)>& body) override {
    (void)grain;
    body(0, count);
  }
};

// A main subgraph with steps: x -> y = relu(x), z = -y, and if: y or z.
class MainSteps : public ::testing::Test {
 protected:
  explicit MainSteps(bool hasBranch = true) : plan_(plannedFrom(model(hasBranch))) {
    EXPECT_TRUE(canHaveSteps(plan_.main));
    const auto steps = stepsOf(plan_.main, 100);
    steps->isOnlyWay = !hasBranch;
    plan_.main.steps = steps;
  }

  static TestModel model(bool hasBranch) {
    TestModel test;
    const uint32_t x = test.input({2});
    const uint32_t y = test.output({2});
    const uint32_t z = hasBranch ? test.temporary({2}) : test.output({2});
    test.operation(OperationType::RELU, {x}, {y});
    test.operation(OperationType::NEG, {y}, {z});
    if (!hasBranch) return test;
    TestModel same;
    const uint32_t a = same.input({2});
    same.input({2});
    same.operation(OperationType::NEG, {a}, {same.output({2})});
    const uint32_t condition = test.input({1}, kBool8);
    const uint32_t made = test.temporary({2});
    const uint32_t yes = test.reference(same);
    test.operation(OperationType::IF, {condition, yes, yes, y, z}, {made});
    test.operation(OperationType::NEG, {made}, {test.output({2})});
    return test;
  }

  hal::ExecutionResult run(const std::vector<Argument>& inputs,
                           const std::vector<Argument>& outputs) {
    Inline kernels;
    ModelRun run(plan_, kernels, inputs, outputs);
    return run.run({}, /*allShapes=*/true);
  }

  ExecutionPlan plan_;
};

// Its output is read, and is in memory that another process can write to.
TEST_F(MainSteps, RunControlFlowToo) {
  std::vector<float> x{1, 2};
  std::vector<float> y(2);
  std::vector<float> out(2);
  std::vector<uint8_t> flag{1};
  std::vector<Argument> inputs{argumentOf(x), argumentOf(flag)};
  std::vector<Argument> outputs{argumentOf(y), argumentOf(out)};
  for (const bool shared : {false, true}) {
    inputs[0].shared = shared;
    outputs[0].shared = shared;
    const auto result = run(inputs, outputs);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_THAT(y, ElementsAre(100, 200));
    EXPECT_THAT(out, ElementsAre(100, 200));
    ASSERT_EQ(result.outputShapes.size(), 2u);
    EXPECT_THAT(result.outputShapes[1].dimensions, ElementsAre(2));
  }
  // Without its condition, the operations run one by one, with their own kernels.
  const auto result = run({inputs[0], {}}, outputs);
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(result.status.message(), HasSubstr("operation #2 IF: input 0 (condition)"));
  EXPECT_THAT(y, ElementsAre(1, 2));
}

// A reference kernel relies on the values that it has read; a driver's kernel does not.
TEST(StepRun, OnlyReferenceKernelsReadCopiesOfSharedInputs) {
  for (const bool isKernel : {false, true}) {
    TestModel test;
    const uint32_t x = test.input({2});
    test.operation(isKernel ? OperationType::RELU : OperationType::NEG, {x}, {test.output({2})});
    ExecutionPlan plan = plannedFrom(test);
    plan.main.steps = stepsOf(plan.main, 1);
    StepRun run(plan.main);
    Inline kernels;
    BlockPool blocks;
    const hal::ExecuteOptions options;
    float in[] = {1, 2};
    float out[] = {-7, -7};
    run.bindOutput(0, out);
    for (const bool shared : {false, true}) {
      in[0] = 1;
      run.bindInput(0, in, shared);
      in[0] = 5;
      ASSERT_TRUE(run.run({plan, kernels, blocks, &options}).ok());
      EXPECT_EQ(std::abs(out[0]), shared && !isKernel ? 1 : 5);
    }
  }
}

class OnlySteps : public MainSteps {
 protected:
  OnlySteps() : MainSteps(false) {}
};

TEST_F(OnlySteps, TakeUnalignedMemory) {
  std::vector<uint8_t> in(9);
  std::vector<uint8_t> first(9);
  std::vector<float> second(2);
  const float x[] = {1, 2};
  std::memcpy(in.data() + 1, x, sizeof x);
  const auto result =
      run({{in.data() + 1, 8, {}, false}}, {{first.data() + 1, 8, {}, false}, argumentOf(second)});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  float y[2];
  std::memcpy(y, first.data() + 1, sizeof y);
  EXPECT_THAT(y, ElementsAre(100, 200));
  EXPECT_THAT(second, ElementsAre(-100, -200));
}

TEST_F(OnlySteps, SayWhatOutputsNeedAndDoNotRun) {
  std::vector<float> x{1, 2};
  std::vector<float> y(1, -7);
  std::vector<float> z(2, -7);
  const auto result = run({argumentOf(x)}, {argumentOf(y), argumentOf(z)});
  EXPECT_EQ(result.status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
  ASSERT_EQ(result.outputShapes.size(), 2u);
  EXPECT_FALSE(result.outputShapes[0].isSufficient);
  EXPECT_TRUE(result.outputShapes[1].isSufficient);
  EXPECT_THAT(result.outputShapes[0].dimensions, ElementsAre(2));
  EXPECT_THAT(y, ElementsAre(-7));
  EXPECT_THAT(z, Each(-7));
}

TEST_F(OnlySteps, RefuseOtherArguments) {
  std::vector<float> x{1, 2};
  std::vector<float> y(2);
  std::vector<float> z(2);
  const auto omitted = run({Argument{}}, {argumentOf(y), argumentOf(z)});
  EXPECT_EQ(omitted.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(omitted.status.message(), HasSubstr("input 0 is omitted"));
  const auto longer = run({argumentOf(x, {3})}, {argumentOf(y), argumentOf(z)});
  EXPECT_EQ(longer.status.code(), ResultCode::BAD_DATA);
}

}  // namespace
}  // namespace halyard::cpu

// Tests of branches and loops in the executor: values, shapes, nesting, time limits, cancellation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cpu/executor.h"
#include "cpu/executor_for_test.h"
#include "cpu/model_for_test.h"
#include "model/validation/validation.h"

namespace halyard::cpu {
namespace {

using testing::argumentOf;
using ::testing::ElementsAre;
using testing::executorFor;
using ::testing::HasSubstr;
using testing::TestModel;
using testing::tryExecutorFor;

constexpr OperandType kInts = OperandType::TENSOR_INT32;
constexpr OperandType kBool = OperandType::TENSOR_BOOL8;

// x -> x + amount.
TestModel adder(float amount, const Shape& dims = {2}) {
  TestModel test;
  const uint32_t x = test.input(dims);
  const uint32_t constant = test.constant<float>(OperandType::TENSOR_FLOAT32, {1}, {amount});
  test.add(x, constant, test.output(dims));
  return test;
}

// if condition: x + 1, else: x + 10.
TestModel chooser(const Shape& dims = {2}) {
  TestModel test;
  const uint32_t condition = test.input({1}, kBool);
  const uint32_t x = test.input(dims);
  const uint32_t yes = test.reference(adder(1, dims));
  const uint32_t no = test.reference(adder(10, dims));
  test.operation(OperationType::IF, {condition, yes, no, x}, {test.output(dims)});
  return test;
}

std::vector<float> runChooser(Executor& executor, uint8_t condition, std::vector<float> x) {
  std::vector<uint8_t> flag{condition};
  std::vector<float> out(x.size());
  const std::vector<Argument> inputs{argumentOf(flag), argumentOf(x, {uint32_t(x.size())})};
  const std::vector<Argument> outputs{argumentOf(out)};
  const auto result = executor.execute(inputs, outputs, {});
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  return out;
}

TEST(ControlFlow, BranchTakesTheModelThatTheConditionSays) {
  const auto executor = executorFor(chooser());
  EXPECT_THAT(runChooser(*executor, 1, {1, 2}), ElementsAre(2, 3));
  EXPECT_THAT(runChooser(*executor, 0, {1, 2}), ElementsAre(11, 12));
  // Any byte except 0 is true.
  EXPECT_THAT(runChooser(*executor, 0x80, {1, 2}), ElementsAre(2, 3));
}

TEST(ControlFlow, BranchWithShapesKnownOnlyAtExecution) {
  const auto executor = executorFor(chooser({0}));
  EXPECT_THAT(runChooser(*executor, 1, {1, 2, 3}), ElementsAre(2, 3, 4));
  EXPECT_THAT(runChooser(*executor, 0, {5}), ElementsAre(15));
}

TEST(ControlFlow, BranchReportsTheShapeOfAnOutputThatIsTooSmall) {
  const auto executor = executorFor(chooser({0}));
  std::vector<uint8_t> flag{1};
  std::vector<float> x{1, 2, 3};
  std::vector<float> out(2, -1);
  const std::vector<Argument> inputs{argumentOf(flag), argumentOf(x, {3})};
  const std::vector<Argument> outputs{argumentOf(out)};
  const auto result = executor->execute(inputs, outputs, {});
  EXPECT_EQ(result.status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
  ASSERT_EQ(result.outputShapes.size(), 1u);
  EXPECT_THAT(result.outputShapes[0].dimensions, ElementsAre(3));
  EXPECT_FALSE(result.outputShapes[0].isSufficient);
  EXPECT_THAT(out, ElementsAre(-1, -1));
}

TEST(ControlFlow, BranchNeedsItsCondition) {
  const auto executor = executorFor(chooser());
  std::vector<float> x{1, 2};
  std::vector<float> out(2);
  const std::vector<Argument> inputs{Argument{}, argumentOf(x)};
  const std::vector<Argument> outputs{argumentOf(out)};
  const auto result = executor->execute(inputs, outputs, {});
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(result.status.message(), HasSubstr("operation #0 IF: input 0 (condition)"));
}

TEST(ControlFlow, ErrorsInsideNameTheWayThere) {
  TestModel inner;  // the sum of operands with different sizes, which only execution can detect
  const uint32_t a = inner.input({0});
  const uint32_t b = inner.input({0});
  inner.add(a, b, inner.output({0}));
  TestModel test;
  const uint32_t condition = test.input({1}, kBool);
  const uint32_t x = test.input({0});
  const uint32_t y = test.input({0});
  const uint32_t model = test.reference(inner);
  test.operation(OperationType::IF, {condition, model, model, x, y}, {test.output({0})});
  const auto executor = executorFor(test);
  std::vector<uint8_t> flag{0};
  std::vector<float> two{1, 2};
  std::vector<float> three{1, 2, 3};
  std::vector<float> out(3);
  const std::vector<Argument> inputs{argumentOf(flag), argumentOf(two, {2}),
                                     argumentOf(three, {3})};
  const std::vector<Argument> outputs{argumentOf(out)};
  const auto result = executor->execute(inputs, outputs, {});
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(result.status.message(),
              HasSubstr("operation #0 IF: else-model: operation #0 ADD: "));
}

// n, x -> n < limit.
TestModel below(int32_t limit, const Shape& dims) {
  TestModel test;
  const uint32_t n = test.input({1}, kInts);
  test.input(dims);
  const uint32_t bound = test.constant<int32_t>(kInts, {1}, {limit});
  test.operation(OperationType::LESS, {n, bound}, {test.output({1}, kBool)});
  return test;
}

// n, x -> n + 1, x + x.
TestModel doubling(const Shape& dims) {
  TestModel test;
  const uint32_t n = test.input({1}, kInts);
  const uint32_t x = test.input(dims);
  const uint32_t one = test.constant<int32_t>(kInts, {1}, {1});
  test.add(n, one, test.output({1}, kInts)).add(x, x, test.output(dims));
  return test;
}

// Doubles x while n < limit; n counts up.
TestModel loopModel(int32_t limit) {
  TestModel test;
  const uint32_t n = test.input({1}, kInts);
  const uint32_t x = test.input({2});
  const uint32_t condition = test.reference(below(limit, {2}));
  const uint32_t body = test.reference(doubling({2}));
  test.operation(OperationType::WHILE, {condition, body, n, x},
                 {test.output({1}, kInts), test.output({2})});
  return test;
}

struct LoopResult {
  hal::ExecutionResult result;
  std::vector<int32_t> n = {-1};
  std::vector<float> x = {-1, -1};
};

LoopResult runLoop(Executor& executor, int32_t n, const hal::ExecuteOptions& options = {}) {
  std::vector<int32_t> count{n};
  std::vector<float> x{1, 3};
  LoopResult loop;
  const std::vector<Argument> inputs{argumentOf(count), argumentOf(x)};
  const std::vector<Argument> outputs{argumentOf(loop.n), argumentOf(loop.x)};
  loop.result = executor.execute(inputs, outputs, options);
  return loop;
}

TEST(ControlFlow, LoopGoesOnWhileTheConditionHolds) {
  const auto executor = executorFor(loopModel(5));
  const LoopResult loop = runLoop(*executor, 2);
  ASSERT_TRUE(loop.result.status.ok()) << loop.result.status.toString();
  EXPECT_THAT(loop.n, ElementsAre(5));
  EXPECT_THAT(loop.x, ElementsAre(8, 24));
}

TEST(ControlFlow, LoopThatIsNotEnteredGivesTheInitialValues) {
  const auto executor = executorFor(loopModel(5));
  const LoopResult loop = runLoop(*executor, 7);
  ASSERT_TRUE(loop.result.status.ok()) << loop.result.status.toString();
  EXPECT_THAT(loop.n, ElementsAre(7));
  EXPECT_THAT(loop.x, ElementsAre(1, 3));
}

TEST(ControlFlow, EndlessLoopMissesItsDeadline) {
  const auto executor = executorFor(loopModel(INT32_MAX));
  hal::ExecuteOptions options;
  options.loopTimeout = std::chrono::milliseconds(5);
  const LoopResult timedOut = runLoop(*executor, 0, options);
  EXPECT_EQ(timedOut.result.status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_THAT(timedOut.result.status.message(), HasSubstr("WHILE: the loop has not ended within"));

  options.loopTimeout = std::chrono::seconds(10);
  options.deadline = hal::Clock::now() + std::chrono::milliseconds(5);
  EXPECT_EQ(runLoop(*executor, 0, options).result.status.code(),
            ResultCode::MISSED_DEADLINE_TRANSIENT);
}

TEST(ControlFlow, CancellingEndsALoop) {
  const auto executor = executorFor(loopModel(INT32_MAX));
  std::stop_source source;
  hal::ExecuteOptions options;
  options.loopTimeout = std::chrono::seconds(15);
  options.cancel = source.get_token();
  std::jthread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    source.request_stop();
  });
  const LoopResult loop = runLoop(*executor, 0, options);
  EXPECT_EQ(loop.result.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(loop.result.status.message(), HasSubstr("cancelled"));
}

// Appends x to the list in each iteration, so the list grows. n stays inside; only the list comes
// out.
TEST(ControlFlow, LoopValuesMayGrowAndStayInside) {
  TestModel condition;
  {
    condition.input({0});
    const uint32_t n = condition.input({1}, kInts);
    condition.input({2});
    const uint32_t bound = condition.constant<int32_t>(kInts, {1}, {3});
    condition.operation(OperationType::LESS, {n, bound}, {condition.output({1}, kBool)});
  }
  TestModel body;
  {
    const uint32_t list = body.input({0});
    const uint32_t n = body.input({1}, kInts);
    const uint32_t x = body.input({2});
    const uint32_t one = body.constant<int32_t>(kInts, {1}, {1});
    const uint32_t axis = body.int32(0);
    body.operation(OperationType::CONCATENATION, {list, x, axis}, {body.output({0})});
    body.add(n, one, body.output({1}, kInts));
  }
  TestModel test;
  const uint32_t list = test.input({1});
  const uint32_t n = test.constant<int32_t>(kInts, {1}, {0});
  const uint32_t x = test.input({2});
  const uint32_t conditionModel = test.reference(condition);
  const uint32_t bodyModel = test.reference(body);
  test.operation(OperationType::WHILE, {conditionModel, bodyModel, list, n, x}, {test.output({0})});
  const auto executor = executorFor(test);
  std::vector<float> first{9};
  std::vector<float> more{1, 2};
  std::vector<float> out(7);
  const std::vector<Argument> inputs{argumentOf(first), argumentOf(more)};
  const std::vector<Argument> outputs{argumentOf(out)};
  const auto result = executor->execute(inputs, outputs, {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(result.outputShapes[0].dimensions, ElementsAre(7));
  EXPECT_THAT(out, ElementsAre(9, 1, 2, 1, 2, 1, 2));
}

// Runs a loop inside a loop, `turns` times. The inner loop has a value that never comes out.
TestModel loopInLoop(int32_t turns) {
  TestModel condition;
  {
    const uint32_t n = condition.input({1}, kInts);
    const uint32_t bound = condition.constant<int32_t>(kInts, {1}, {turns});
    condition.operation(OperationType::LESS, {n, bound}, {condition.output({1}, kBool)});
  }
  const Shape large = {1 << 16};
  TestModel body;
  {
    const uint32_t n = body.input({1}, kInts);
    const uint32_t zero = body.constant<int32_t>(kInts, {1}, {0});
    const uint32_t one = body.constant<int32_t>(kInts, {1}, {1});
    const uint32_t x =
        body.constant<float>(OperandType::TENSOR_FLOAT32, large, std::vector<float>(large[0], 1));
    const uint32_t innerCondition = body.reference(below(2, large));
    const uint32_t innerBody = body.reference(doubling(large));
    body.operation(OperationType::WHILE, {innerCondition, innerBody, zero, x},
                   {body.temporary({1}, kInts)});
    body.add(n, one, body.output({1}, kInts));
  }
  TestModel test;
  const uint32_t n = test.input({1}, kInts);
  const uint32_t conditionModel = test.reference(condition);
  const uint32_t bodyModel = test.reference(body);
  test.operation(OperationType::WHILE, {conditionModel, bodyModel, n}, {test.output({1}, kInts)});
  return test;
}

TEST(ControlFlow, ValuesThatStayInsideALoopAreGivenBack) {
  std::vector<size_t> peaks;
  for (int32_t turns : {2, 20}) {
    const auto executor = executorFor(loopInLoop(turns));
    std::vector<int32_t> n{0};
    std::vector<int32_t> out{-1};
    const std::vector<Argument> inputs{argumentOf(n)};
    const std::vector<Argument> outputs{argumentOf(out)};
    const auto result = executor->execute(inputs, outputs, {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_THAT(out, ElementsAre(turns));
    peaks.push_back(executor->memoryUse().peak);
  }
  EXPECT_EQ(peaks[0], peaks[1]);
}

// A branch that always fails is harmless unless it is taken.
TEST(ControlFlow, BranchThatCannotWork) {
  TestModel broken;  // slices with a stride of 0
  {
    const uint32_t x = broken.input({2});
    const uint32_t list = broken.constant<int32_t>(kInts, {1}, {0});
    const uint32_t mask = broken.int32(0);
    broken.operation(OperationType::STRIDED_SLICE, {x, list, list, list, mask, mask, mask},
                     {broken.output({2})});
  }
  TestModel test;
  const uint32_t condition = test.input({1}, kBool);
  const uint32_t x = test.input({2});
  const uint32_t yes = test.reference(adder(1));
  const uint32_t no = test.reference(broken);
  test.operation(OperationType::IF, {condition, yes, no, x}, {test.output({2})});
  const auto executor = executorFor(test);
  ASSERT_NE(executor, nullptr);
  EXPECT_THAT(runChooser(*executor, 1, {1, 2}), ElementsAre(2, 3));
  std::vector<uint8_t> flag{0};
  std::vector<float> values{1, 2};
  std::vector<float> out(2);
  const std::vector<Argument> inputs{argumentOf(flag), argumentOf(values)};
  const std::vector<Argument> outputs{argumentOf(out)};
  const auto result = executor->execute(inputs, outputs, {});
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(result.status.message(),
              HasSubstr("else-model: operation #0 STRIDED_SLICE: strides"));
}

// A chooser of the given depth: each level adds 1 through the level below.
TestModel nested(size_t depth) {
  TestModel test;
  // The model is built flat: level i is subgraph i, which refers to subgraph i + 1.
  for (size_t i = 0; i <= depth; ++i) {
    TestModel level;
    const uint32_t x = level.input({1});
    const uint32_t out = level.output({1});
    const uint32_t one = level.constant<float>(OperandType::TENSOR_FLOAT32, {1}, {1});
    if (i == depth) {
      level.add(x, one, out);
    } else {
      const uint32_t sum = level.temporary({1});
      const uint32_t yes = level.constant<uint8_t>(kBool, {1}, {1});
      const uint32_t next = level.referenceTo(static_cast<uint32_t>(i));
      level.add(x, one, sum).operation(OperationType::IF, {yes, next, next, sum}, {out});
    }
    if (i == 0) {
      test = level;
      continue;
    }
    // reference() shifts the level's references by its own position. They already include it, so
    // they restart at 0.
    for (Operand& operand : level.model().main.operands) {
      if (operand.lifetime == Lifetime::SUBGRAPH) operand.location.offset = 0;
    }
    TestModel holder = test;
    holder.reference(level);
    holder.model().main = test.model().main;
    test = holder;
  }
  return test;
}

TEST(ControlFlow, NestsDeeplyButNotWithoutLimit) {
  const auto executor = executorFor(nested(100));
  ASSERT_NE(executor, nullptr);
  std::vector<float> x{0};
  std::vector<float> out(1);
  const std::vector<Argument> inputs{argumentOf(x)};
  const std::vector<Argument> outputs{argumentOf(out)};
  const auto result = executor->execute(inputs, outputs, {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(out, ElementsAre(101));

  const auto tooDeep = tryExecutorFor(nested(500));
  ASSERT_FALSE(tooDeep.ok());
  EXPECT_THAT(tooDeep.status().message(), HasSubstr("nested more than"));
}

TEST(ControlFlow, ModelsThatDoNotFitAreRefused) {
  struct Case {
    const char* expected;
    std::function<void(TestModel&)> build;
  };
  const auto branch = [](TestModel& test, const TestModel& yes, const TestModel& no,
                         const Shape& in, const Shape& out) {
    const uint32_t condition = test.input({1}, kBool);
    const uint32_t x = test.input(in);
    const uint32_t a = test.reference(yes);
    const uint32_t b = test.reference(no);
    test.operation(OperationType::IF, {condition, a, b, x}, {test.output(out)});
  };
  const std::vector<Case> cases = {
      {"input 0 of the then-model is TENSOR_FLOAT32[3], but input 3 of the operation is "
       "TENSOR_FLOAT32[2]",
       [&](TestModel& t) { branch(t, adder(1, {3}), adder(1, {2}), {2}, {2}); }},
      {"input 0 of the else-model is TENSOR_FLOAT32[2,1]",
       [&](TestModel& t) {
         branch(t, adder(1, {2}), adder(1, {2, 1}), {2}, {2});
       }},
      {"output 0 of the then-model is TENSOR_FLOAT32[2], but output 0 of the operation is "
       "TENSOR_FLOAT32[5]",
       [&](TestModel& t) { branch(t, adder(1, {2}), adder(1, {2}), {2}, {5}); }},
      {"the then-model has 2 inputs, expected 1",
       [&](TestModel& t) { branch(t, below(1, {2}), adder(1, {2}), {2}, {2}); }},
      {"takes at least 3 inputs, has 2",
       [&](TestModel& t) {
         const uint32_t condition = t.input({1}, kBool);
         t.operation(OperationType::IF, {condition, t.reference(adder(1))}, {t.output({2})});
       }},
      {"input 0 (condition)",
       [&](TestModel& t) {
         const uint32_t condition = t.input({1});
         const uint32_t model = t.reference(adder(1));
         t.operation(OperationType::IF, {condition, model, model, t.input({2})}, {t.output({2})});
       }},
      {"input 0 of the operation is TENSOR_BOOL8[2], expected TENSOR_BOOL8[1]",
       [&](TestModel& t) {
         const uint32_t condition = t.input({2}, kBool);
         const uint32_t model = t.reference(adder(1));
         t.operation(OperationType::IF, {condition, model, model, t.input({2})}, {t.output({2})});
       }},
      {"output 0 of the condition model is TENSOR_FLOAT32[2], expected TENSOR_BOOL8[1]",
       [&](TestModel& t) {
         const uint32_t x = t.input({2});
         const uint32_t model = t.reference(adder(1));
         t.operation(OperationType::WHILE, {model, model, x}, {t.output({2})});
       }},
      {"the body model has 1 outputs, expected 2 to 2",
       [&](TestModel& t) {
         const uint32_t n = t.input({1}, kInts);
         const uint32_t x = t.input({2});
         const uint32_t condition = t.reference(below(1, {2}));
         const uint32_t body = t.reference(below(1, {2}));
         t.operation(OperationType::WHILE, {condition, body, n, x},
                     {t.output({1}, kInts), t.output({2})});
       }},
  };
  for (const Case& c : cases) {
    TestModel test;
    c.build(test);
    const auto level = validateModel(*test.share());
    ASSERT_FALSE(level.ok()) << c.expected;
    EXPECT_EQ(level.status().code(), ResultCode::BAD_DATA);
    EXPECT_THAT(level.status().message(), HasSubstr(c.expected));
  }
}

}  // namespace
}  // namespace halyard::cpu

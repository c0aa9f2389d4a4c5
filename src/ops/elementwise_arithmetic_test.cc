// Tests of ADD, DIV, MUL and SUB against their definitions, element by element over real numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

#include "ops/broadcast.h"
#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

double exactResult(OperationType type, double a, double b) {
  switch (type) {
    case OperationType::ADD:
      return a + b;
    case OperationType::SUB:
      return a - b;
    case OperationType::DIV:
      return a / b;
    default:
      return a * b;
  }
}

void checkOne(RandomOperands& random, OperationType op, OperandType type, const Shape& shapeA,
              const Shape& shapeB, const Shape& shape) {
  const TestOperand a = random.tensor(type, shapeA);
  const TestOperand b = random.tensor(type, shapeB);
  const auto code = static_cast<FuseCode>(random.between(0, 3));
  const std::vector<double> expected = broadcastNumbers(
      a, b, shape, [&](double x, double y) { return activated(exactResult(op, x, y), code); });
  std::vector<TestOperand> inputs = {a, b, TestOperand::int32(static_cast<int>(code))};
  std::vector<TestOperand> outputs = {random.output(type, 3)};
  const std::string what =
      fmt::format("{} of {} {} and {}", operationTypeName(op), operandTypeName(type),
                  fmt::join(shapeA, "x"), fmt::join(shapeB, "x"));
  const Status status = runOperation(op, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString() << "\n" << what;
  EXPECT_EQ(outputs[0].tensor.dims, shape) << what;
  expectReals(outputs[0], expected, what);
}

TEST(ElementwiseArithmetic, AgreesWithDefinition) {
  RandomOperands random(1);
  for (int round = 0; round < 60; ++round) {
    const auto [a, b, shape] = randomBroadcast(random, 4);
    for (OperationType op :
         {OperationType::ADD, OperationType::SUB, OperationType::MUL, OperationType::DIV}) {
      for (OperandType type :
           {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
        if (op == OperationType::DIV && isQuant8Asymm(type)) continue;
        checkOne(random, op, type, a, b, shape);
        checkOne(random, op, type, shape, {1}, shape);
        checkOne(random, op, type, {shape.back()}, shape, shape);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ElementwiseArithmetic, QuantizedTiesOfSumsRoundUp) {
  // 0.5 * 1 + 0.5 * 0 in units of 1 is a tie.
  std::vector<TestOperand> inputs = {
      TestOperand::of<int8_t>(TENSOR_QUANT8_ASYMM_SIGNED, {4}, {1, -1, 3, -3}, 0.5f, 0),
      TestOperand::of<int8_t>(TENSOR_QUANT8_ASYMM_SIGNED, {1}, {5}, 0.5f, 5),
      TestOperand::int32(0)};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_QUANT8_ASYMM_SIGNED, 1, 0)};
  ASSERT_TRUE(runOperation(OperationType::ADD, inputs, outputs).ok());
  EXPECT_THAT(outputs[0].values<int8_t>(), ::testing::ElementsAre(1, 0, 2, -1));
}

TEST(ElementwiseArithmetic, QuantizedSaturates) {
  std::vector<TestOperand> inputs = {
      TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {2}, {0, 255}, 1e30f, 128),
      TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {2}, {0, 255}, 1e30f, 128),
      TestOperand::int32(0)};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_QUANT8_ASYMM, 1e-30f, 3)};
  ASSERT_TRUE(runOperation(OperationType::ADD, inputs, outputs).ok());
  EXPECT_THAT(outputs[0].values<uint8_t>(), ::testing::ElementsAre(0, 255));
}

TEST(ElementwiseArithmetic, IntegersWrap) {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  std::vector<TestOperand> inputs = {
      TestOperand::of<int32_t>(TENSOR_INT32, {2, 2}, {kMax, -7, 65536, kMin}),
      TestOperand::of<int32_t>(TENSOR_INT32, {2}, {1, 3}), TestOperand::int32(0)};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_INT32)};
  ASSERT_TRUE(runOperation(OperationType::ADD, inputs, outputs).ok());
  EXPECT_THAT(outputs[0].values<int32_t>(), ::testing::ElementsAre(kMin, -4, 65537, kMin + 3));
  ASSERT_TRUE(runOperation(OperationType::SUB, inputs, outputs).ok());
  EXPECT_THAT(outputs[0].values<int32_t>(), ::testing::ElementsAre(kMax - 1, -10, 65535, kMax - 2));
  inputs[1] = TestOperand::of<int32_t>(TENSOR_INT32, {1}, {65536});
  ASSERT_TRUE(runOperation(OperationType::MUL, inputs, outputs).ok());
  EXPECT_THAT(outputs[0].values<int32_t>(), ::testing::ElementsAre(-65536, -7 * 65536, 0, 0));
}

TEST(ElementwiseArithmetic, IntegerDivisionRoundsDown) {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  const std::vector<std::array<int32_t, 3>> cases = {
      {7, 2, 3},        {-7, 2, -4},       {7, -2, -4},      {-7, -2, 3},
      {6, -3, -2},      {-6, 3, -2},       {0, -5, 0},       {1, kMin, -1},
      {-1, kMin, 0},    {kMin, 1, kMin},   {5, 0, 0},        {kMin, 0, 0},
      {kMin, -1, kMin}, {kMax, -1, -kMax}, {kMin, kMax, -2}, {-1, kMax, -1}};
  for (const auto& [dividend, divisor, expected] : cases) {
    const TestOperand result = resultOf(
        OperationType::DIV, {intList({dividend}), intList({divisor}), TestOperand::int32(0)},
        TestOperand::output(TENSOR_INT32));
    EXPECT_EQ(result.values<int32_t>()[0], expected) << dividend << " / " << divisor;
  }
}

TEST(ElementwiseArithmetic, FloatDivisionByZeroFollowsIeee) {
  const TestOperand result =
      resultOf(OperationType::DIV,
               {TestOperand::of<float>(TENSOR_FLOAT32, {3}, {1, -1, 0}),
                TestOperand::of<float>(TENSOR_FLOAT32, {1}, {0}), TestOperand::int32(0)},
               TestOperand::output(TENSOR_FLOAT32));
  EXPECT_EQ(result.values<float>()[0], kInfinity);
  EXPECT_EQ(result.values<float>()[1], -kInfinity);
  EXPECT_TRUE(std::isnan(result.values<float>()[2]));
}

TEST(ElementwiseArithmetic, LevelsOfDivision) {
  expectTypeLevels(OperationType::DIV,
                   {{TENSOR_FLOAT32, 2}, {TENSOR_FLOAT16, 3}, {TENSOR_INT32, 4}});
}

TEST(ElementwiseArithmetic, FloatKeepsNanAndInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<TestOperand> inputs = {
      TestOperand::of<float>(TENSOR_FLOAT32, {3}, {nan, infinity, -infinity}),
      TestOperand::of<float>(TENSOR_FLOAT32, {1}, {1}), TestOperand::int32(0)};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(runOperation(OperationType::ADD, inputs, outputs).ok());
  EXPECT_TRUE(std::isnan(outputs[0].values<float>()[0]));
  EXPECT_EQ(outputs[0].values<float>()[1], infinity);
  EXPECT_EQ(outputs[0].values<float>()[2], -infinity);
}

TEST(ElementwiseArithmetic, ZeroSizedBroadcasts) {
  RandomOperands random(2);
  const auto shapeOf = [&](const Shape& a, const Shape& b) {
    return inferredShapes(
        OperationType::MUL,
        {random.tensor(TENSOR_FLOAT32, a), random.tensor(TENSOR_FLOAT32, b), TestOperand::int32(0)},
        {TestOperand::output(TENSOR_FLOAT32)})[0];
  };
  EXPECT_EQ(shapeOf({0, 3}, {3}), (Shape{0, 3}));
  EXPECT_EQ(shapeOf({1, 3}, {0, 1}), (Shape{0, 3}));
  EXPECT_EQ(shapeOf({0}, {0}), (Shape{0}));
  std::vector<TestOperand> inputs = {random.tensor(TENSOR_FLOAT32, {2, 0}),
                                     random.tensor(TENSOR_FLOAT32, {1}), TestOperand::int32(0)};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  EXPECT_TRUE(runOperation(OperationType::ADD, inputs, outputs).ok());
  EXPECT_TRUE(outputs[0].bytes.empty());
}

TEST(ElementwiseArithmetic, Refuses) {
  RandomOperands random(3);
  const auto tensor = [&](const Shape& shape) { return random.tensor(TENSOR_FLOAT32, shape); };
  const TestOperand output = TestOperand::output(TENSOR_FLOAT32);
  expectFailure(OperationType::ADD, {tensor({2, 3}), tensor({2, 4}), TestOperand::int32(0)},
                {output}, "shapes [2,3] and [2,4] cannot be broadcast: sizes 3 and 4");
  expectFailure(OperationType::ADD, {tensor({0, 3}), tensor({2, 3}), TestOperand::int32(0)},
                {output}, "sizes 0 and 2");
  expectFailure(OperationType::SUB, {tensor({1, 1, 1, 1, 2}), tensor({2}), TestOperand::int32(0)},
                {output}, "input 0 has rank 5 [1,1,1,1,2], expected rank 1 to 4");
  expectFailure(OperationType::MUL, {tensor({2}), tensor({2}), TestOperand::int32(4)}, {output},
                "activation is 4");
  for (OperationType op : {OperationType::MUL, OperationType::DIV}) {
    expectFailure(op, {intList({1}), intList({1}), TestOperand::int32(1)},
                  {TestOperand::output(TENSOR_INT32)},
                  "activation is 1, integer tensors take only 0 (none)");
  }
}

TEST(ElementwiseArithmetic, RefusesResultsThatDoNotFit) {
  // Only the shapes exist, so inference must refuse before any allocation.
  Tensor inputs[3];
  inputs[0].type = inputs[1].type = TENSOR_FLOAT32;
  inputs[0].dims = {1, 1u << 20};
  inputs[1].dims = {1u << 20, 1};
  int32_t none = 0;
  inputs[2].data = &none;
  inputs[2].type = INT32;
  Tensor output;
  output.type = TENSOR_FLOAT32;
  OperationContext context(inputs, std::span(&output, 1), nullptr);
  const Status status = inferShapes(*definitionOf(OperationType::ADD), context);
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED) << status.toString();
}

TEST(ElementwiseArithmetic, InfersBeforeTheActivationIsKnown) {
  Tensor inputs[3];
  inputs[0].type = inputs[1].type = TENSOR_FLOAT32;
  inputs[0].dims = {2, 1};
  inputs[1].dims = {5};
  inputs[2].type = INT32;
  Tensor output;
  output.type = TENSOR_FLOAT32;
  OperationContext context(inputs, std::span(&output, 1), nullptr);
  EXPECT_TRUE(inferShapes(*definitionOf(OperationType::ADD), context).ok());
  EXPECT_EQ(output.dims, (Shape{2, 5}));
}

// Any split of the work covers the same rows.
TEST(Broadcast, RowsOfPartsMakeUpTheWhole) {
  const Shape a = {3, 1, 4, 5};
  const Shape b = {2, 1, 5};
  const Shape shape = {3, 2, 4, 5};
  const BroadcastPlan plan = planBroadcast(a, b, shape);
  for (size_t part : {1u, 3u, 7u, 120u}) {
    std::vector<std::pair<size_t, size_t>> sources(120);
    for (size_t begin = 0; begin < 120; begin += part) {
      forEachBroadcastRow(
          plan, begin, std::min<size_t>(begin + part, 120),
          [&](size_t fromA, size_t fromB, size_t to, size_t length) {
            for (size_t i = 0; i < length; ++i) {
              sources[to + i] = {fromA + i * plan.row.strideA, fromB + i * plan.row.strideB};
            }
          });
    }
    for (size_t i = 0; i < sources.size(); ++i) {
      const std::vector<size_t> at = coordinatesOf(i, shape);
      EXPECT_EQ(sources[i].first, sourceIndex(at, a)) << "element " << i << ", parts of " << part;
      EXPECT_EQ(sources[i].second, sourceIndex(at, b)) << "element " << i << ", parts of " << part;
    }
  }
}

TEST(Broadcast, EqualShapesAreOneRow) {
  const BroadcastPlan plan = planBroadcast({2, 3, 4}, {2, 3, 4}, {2, 3, 4});
  EXPECT_TRUE(plan.outer.empty());
  EXPECT_EQ(plan.row.extent, 24u);
  const BroadcastPlan scalar = planBroadcast({2, 3, 4}, {1}, {2, 3, 4});
  EXPECT_TRUE(scalar.outer.empty());
  EXPECT_EQ(scalar.row.strideB, 0u);
}

}  // namespace
}  // namespace halyard::ops::testing

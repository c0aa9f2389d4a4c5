// LOGISTIC and the RELU family against their formulas.
#include <gtest/gtest.h>

#include <limits>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

constexpr OperandType kTypes[] = {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
                                  TENSOR_QUANT8_ASYMM_SIGNED};

TestOperand unitRangeOutput(OperandType type) {
  if (!isQuant8Asymm(type)) return TestOperand::output(type);
  return TestOperand::output(type, 1.0f / 256, type == TENSOR_QUANT8_ASYMM ? 0 : -128);
}

TEST(Activations, ReluFamilyClamps) {
  RandomOperands random(11);
  const std::pair<OperationType, FuseCode> operations[] = {{OperationType::RELU, FuseCode::RELU},
                                                           {OperationType::RELU1, FuseCode::RELU1},
                                                           {OperationType::RELU6, FuseCode::RELU6}};
  for (int round = 0; round < 30; ++round) {
    for (const auto& [op, code] : operations) {
      for (OperandType type : kTypes) {
        TestOperand x = random.tensor(type, randomShape(random, 1, 4, 7));
        if (isQuant8Asymm(type)) x.tensor.scale = random.oneOf({0.01f, 0.1f, 3.0f});
        if (type == TENSOR_FLOAT32) {
          std::vector<float> values = x.values<float>();
          for (float& value : values) value *= 10;
          x = TestOperand::of<float>(type, x.tensor.dims, values);
        }
        std::vector<TestOperand> inputs = {x};
        std::vector<TestOperand> outputs = {outputLike(x)};
        ASSERT_TRUE(runOperation(op, inputs, outputs).ok());
        EXPECT_EQ(outputs[0].tensor.dims, x.tensor.dims);
        // Bounds of quantised values are rounded by themselves: only those that do not clamp, or
        // clamp at the zero point, are compared with the real function.
        const std::vector<double> reals = realValues(x);
        const std::vector<double> results = realValues(outputs[0]);
        for (size_t i = 0; i < reals.size(); ++i) {
          const double wanted = activated(reals[i], code);
          const double tolerance =
              isQuant8Asymm(type) ? 0.51 * static_cast<double>(x.tensor.scale) : 0;
          if (wanted == reals[i] || wanted == 0) {
            ASSERT_EQ(results[i], wanted) << operationTypeName(op) << " of " << reals[i];
          } else {
            ASSERT_NEAR(results[i], wanted, tolerance)
                << operationTypeName(op) << " of " << reals[i];
          }
        }
      }
    }
  }
}

TEST(Activations, ReluKeepsNan) {
  std::vector<TestOperand> inputs = {
      TestOperand::of<float>(TENSOR_FLOAT32, {1}, {std::numeric_limits<float>::quiet_NaN()})};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(runOperation(OperationType::RELU6, inputs, outputs).ok());
  EXPECT_TRUE(std::isnan(outputs[0].values<float>()[0]));
}

TEST(Activations, LogisticAgreesWithFormula) {
  RandomOperands random(12);
  for (int round = 0; round < 30; ++round) {
    for (OperandType type : kTypes) {
      TestOperand x = random.tensor(type, randomShape(random, 1, 4, 8));
      std::vector<double> expected;
      for (double real : realValues(x)) expected.push_back(1 / (1 + std::exp(-real)));
      std::vector<TestOperand> inputs = {x};
      std::vector<TestOperand> outputs = {unitRangeOutput(type)};
      ASSERT_TRUE(runOperation(OperationType::LOGISTIC, inputs, outputs).ok());
      EXPECT_EQ(outputs[0].tensor.dims, x.tensor.dims);
      expectReals(outputs[0], expected, operandTypeName(type));
    }
  }
}

TEST(Activations, LogisticOfExtremes) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<TestOperand> inputs = {
      TestOperand::of<float>(TENSOR_FLOAT32, {5}, {-infinity, -200, 0, 200, infinity})};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(runOperation(OperationType::LOGISTIC, inputs, outputs).ok());
  EXPECT_THAT(outputs[0].values<float>(), ::testing::ElementsAre(0, 0, 0.5f, 1, 1));
}

TEST(Activations, ZeroSized) {
  RandomOperands random(13);
  for (OperationType op : {OperationType::RELU, OperationType::RELU1, OperationType::RELU6}) {
    const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {0, 4, 2});
    EXPECT_EQ(inferredShapes(op, {x}, {outputLike(x)})[0], (Shape{0, 4, 2}));
  }
  EXPECT_EQ(inferredShapes(OperationType::LOGISTIC, {random.tensor(TENSOR_FLOAT32, {3, 0})},
                           {TestOperand::output(TENSOR_FLOAT32)})[0],
            (Shape{3, 0}));
}

TEST(Activations, Refuses) {
  RandomOperands random(14);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {2});
  expectFailure(OperationType::RELU, {x}, {TestOperand::output(TENSOR_QUANT8_ASYMM, 99, 0)},
                "output has scale 99 and zero point 0, expected those of the input");
  expectFailure(OperationType::LOGISTIC, {x}, {TestOperand::output(TENSOR_QUANT8_ASYMM, 0.5f, 0)},
                "output has scale 0.5 and zero point 0, expected 1/256 and 0");
  expectFailure(OperationType::LOGISTIC, {random.tensor(TENSOR_QUANT8_ASYMM_SIGNED, {2})},
                {TestOperand::output(TENSOR_QUANT8_ASYMM_SIGNED, 1.0f / 256, 0)},
                "expected 1/256 and -128");
  expectFailure(OperationType::RELU6, {random.tensor(TENSOR_FLOAT32, {1, 1, 1, 1, 1})},
                {TestOperand::output(TENSOR_FLOAT32)}, "rank 5");
}

}  // namespace
}  // namespace halyard::ops::testing

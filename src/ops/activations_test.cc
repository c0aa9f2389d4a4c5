// Tests of ELU, HARD_SWISH, LOGISTIC, TANH and the RELU family against their formulas.
#include <gtest/gtest.h>

#include <limits>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

constexpr OperandType kActivationTypes[] = {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
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
      for (OperandType type : kActivationTypes) {
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
        // Bounds of quantised values are rounded separately. So only values that do not clamp, or
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

TestOperand signedUnitRangeOutput(OperandType type) {
  if (!isQuant8Asymm(type)) return TestOperand::output(type);
  return TestOperand::output(type, 1.0f / 128, type == TENSOR_QUANT8_ASYMM ? 128 : 0);
}

TEST(Activations, SmoothOnesAgreeWithFormula) {
  RandomOperands random(12);
  for (int round = 0; round < 30; ++round) {
    for (OperandType type : kActivationTypes) {
      const auto check = [&](OperationType op, int highestRank, TestOperand output, auto f) {
        const TestOperand x = random.tensor(type, randomShape(random, 1, highestRank, 8));
        std::vector<double> expected;
        for (double real : realValues(x)) expected.push_back(f(real));
        const TestOperand result = resultOf(op, {x}, std::move(output));
        EXPECT_EQ(result.tensor.dims, x.tensor.dims);
        expectReals(result, expected, operationTypeName(op) + " of " + operandTypeName(type));
      };
      check(OperationType::LOGISTIC, 4, unitRangeOutput(type),
            [](double x) { return 1 / (1 + std::exp(-x)); });
      check(OperationType::TANH, 4, signedUnitRangeOutput(type),
            [](double x) { return (std::exp(x) - std::exp(-x)) / (std::exp(x) + std::exp(-x)); });
      check(OperationType::HARD_SWISH, 5, random.output(type, 4),
            [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; });
    }
  }
}

TEST(Activations, HardSwishOfExtremes) {
  constexpr float kMax = std::numeric_limits<float>::max();
  EXPECT_THAT(floatsOf(OperationType::HARD_SWISH, {-kMax, -4, -3, 0, 1.5f, 3, 5, kMax}),
              ::testing::ElementsAre(0, 0, 0, 0, 1.125f, 3, 5, kMax));
  EXPECT_TRUE(std::isnan(
      floatsOf(OperationType::HARD_SWISH, {std::numeric_limits<float>::quiet_NaN()})[0]));
  // 1/4 * {-16, 16} = {-4, 4} gives {0, 4}: 4 is above the output's maximum.
  const TestOperand x = TestOperand::of<int8_t>(TENSOR_QUANT8_ASYMM_SIGNED, {2}, {-16, 16}, 0.25f);
  EXPECT_THAT(resultOf(OperationType::HARD_SWISH, {x},
                       TestOperand::output(TENSOR_QUANT8_ASYMM_SIGNED, 0.01f, -7))
                  .values<int8_t>(),
              ::testing::ElementsAre(-7, 127));
}

TEST(Activations, TanhOfExtremes) {
  EXPECT_THAT(floatsOf(OperationType::TANH, {-kInfinity, -200, 0, 200, kInfinity}),
              ::testing::ElementsAre(-1, -1, 0, 1, 1));
  // 1 is one step above the highest value.
  const TestOperand x = TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {3}, {0, 100, 255}, 1, 100);
  EXPECT_THAT(resultOf(OperationType::TANH, {x}, signedUnitRangeOutput(TENSOR_QUANT8_ASYMM))
                  .values<uint8_t>(),
              ::testing::ElementsAre(0, 128, 255));
}

TEST(Activations, EluAgreesWithFormula) {
  RandomOperands random(15);
  for (int round = 0; round < 30; ++round) {
    for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16}) {
      const TestOperand x = random.tensor(type, randomShape(random, 1, 5, 6));
      const float alpha = random.oneOf({1.0f, 0.25f, 3.0f, 0.0f, -0.5f});  // exact as float16
      std::vector<double> expected;
      for (double real : realValues(x)) {
        expected.push_back(std::max(0.0, real) +
                           std::min(0.0, static_cast<double>(alpha) * (std::exp(real) - 1)));
      }
      const TestOperand result =
          resultOf(OperationType::ELU, {x, realScalar(type, alpha)}, TestOperand::output(type));
      EXPECT_EQ(result.tensor.dims, x.tensor.dims);
      expectReals(result, expected, operandTypeName(type));
    }
  }
}

TEST(Activations, EluOfExtremes) {
  const TestOperand x = TestOperand::of<float>(
      TENSOR_FLOAT32, {4}, {-kInfinity, 1000, kInfinity, std::numeric_limits<float>::quiet_NaN()});
  const auto elu = [&](float alpha) {
    return resultOf(OperationType::ELU, {x, TestOperand::float32(alpha)},
                    TestOperand::output(TENSOR_FLOAT32))
        .values<float>();
  };
  EXPECT_THAT(elu(0.5f), ::testing::ElementsAre(-0.5f, 1000, kInfinity, ::testing::IsNan()));
  EXPECT_THAT(elu(0), ::testing::ElementsAre(0, 1000, kInfinity, ::testing::IsNan()));
}

TEST(Activations, LevelsOfTypes) {
  expectTypeLevels(OperationType::TANH, {{TENSOR_FLOAT32, 1},
                                         {TENSOR_FLOAT16, 3},
                                         {TENSOR_QUANT8_ASYMM, 3},
                                         {TENSOR_QUANT8_ASYMM_SIGNED, 4}});
  expectTypeLevels(OperationType::ELU, {{TENSOR_FLOAT32, 4}, {TENSOR_FLOAT16, 4}});
  expectTypeLevels(OperationType::HARD_SWISH, {{TENSOR_FLOAT32, 4},
                                               {TENSOR_FLOAT16, 4},
                                               {TENSOR_QUANT8_ASYMM, 4},
                                               {TENSOR_QUANT8_ASYMM_SIGNED, 4}});
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
  for (OperationType op :
       {OperationType::LOGISTIC, OperationType::TANH, OperationType::HARD_SWISH}) {
    EXPECT_EQ(inferredShapes(op, {random.tensor(TENSOR_FLOAT32, {3, 0})},
                             {TestOperand::output(TENSOR_FLOAT32)})[0],
              (Shape{3, 0}));
  }
  EXPECT_EQ(inferredShapes(OperationType::ELU,
                           {random.tensor(TENSOR_FLOAT32, {0, 2}), TestOperand::float32(1)},
                           {TestOperand::output(TENSOR_FLOAT32)})[0],
            (Shape{0, 2}));
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
  expectFailure(OperationType::TANH, {x}, {TestOperand::output(TENSOR_QUANT8_ASYMM, 0.5f, 128)},
                "output has scale 0.5 and zero point 128, expected 1/128 and 128");
  expectFailure(OperationType::TANH, {random.tensor(TENSOR_QUANT8_ASYMM_SIGNED, {2})},
                {TestOperand::output(TENSOR_QUANT8_ASYMM_SIGNED, 1.0f / 128, 128)},
                "expected 1/128 and 0");
  for (OperationType op : {OperationType::RELU6, OperationType::TANH}) {
    expectFailure(op, {random.tensor(TENSOR_FLOAT32, {1, 1, 1, 1, 1})},
                  {TestOperand::output(TENSOR_FLOAT32)}, "rank 5");
  }
}

}  // namespace
}  // namespace halyard::ops::testing

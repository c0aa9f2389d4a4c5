// Tests of COS, ROUND and GELU against their definitions.
#include <cmath>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;
using ::testing::FloatNear;

TEST(UnaryFunctions, Cosine) {
  EXPECT_THAT(floatsOf(OperationType::COS, {0, 3.14159265f, 1.04719755f, -1.04719755f}),
              ElementsAre(1, -1, FloatNear(0.5f, 1e-6f), FloatNear(0.5f, 1e-6f)));
  EXPECT_TRUE(std::isnan(floatsOf(OperationType::COS, {INFINITY})[0]));
}

TEST(UnaryFunctions, RoundTakesTheEvenOfTwo) {
  EXPECT_THAT(floatsOf(OperationType::ROUND,
                       {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 0.49999997f, 2.6f, 1e20f, -INFINITY}),
              ElementsAre(0, 2, 2, 0, -2, 0, 3, 1e20f, -INFINITY));
  EXPECT_TRUE(std::signbit(floatsOf(OperationType::ROUND, {-0.25f})[0]));
}

std::vector<double> geluOf(const std::vector<float>& values, bool approximate, OperandType type) {
  std::vector<Float16> halves;
  for (const float value : values) halves.push_back(toFloat16(value));
  const Shape dims = {static_cast<uint32_t>(values.size())};
  const TestOperand x = type == TENSOR_FLOAT16 ? TestOperand::of<Float16>(type, dims, halves)
                                               : TestOperand::of<float>(type, dims, values);
  return realValues(resultOf(OperationType::GELU, {x, TestOperand::boolean(approximate)},
                             TestOperand::output(type)));
}

TEST(UnaryFunctions, Gelu) {
  const std::vector<float> values = {-3, -1, -0.25f, 0, 0.25f, 1, 3};
  for (const OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16}) {
    const double slack = type == TENSOR_FLOAT32 ? 1e-6 : 2e-3;
    const std::vector<double> exact = geluOf(values, false, type);
    const std::vector<double> approximate = geluOf(values, true, type);
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = static_cast<double>(values[i]);
      EXPECT_NEAR(exact[i], x * (1 + std::erf(x / std::sqrt(2.0))) / 2, slack);
      const double inner = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
      EXPECT_NEAR(approximate[i], x * (1 + std::tanh(inner)) / 2, slack);
    }
    // The two forms differ by a known amount, so that one cannot stand for the other.
    EXPECT_NEAR(exact[5], 0.8413447, slack);
    EXPECT_NEAR(approximate[5], 0.8411920, slack);
  }
}

}  // namespace
}  // namespace halyard::ops::testing

// Tests of QUANTIZED_MUL against TensorFlow Lite's definition in integers, and against results
// calculated by hand.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/moves_for_test.h"
#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;

TestOperand product(const TestOperand& a, const TestOperand& b, int32_t activation, float scale,
                    int32_t zeroPoint) {
  return resultOf(OperationType::QUANTIZED_MUL, {a, b, TestOperand::int32(activation)},
                  TestOperand::output(a.tensor.type, scale, zeroPoint));
}

// Returns the product times 2^exponent significand / 2^31: doubled, high half, to nearest with ties
// up. Ratios below one are rounded once more, ties away from zero.
int32_t scaledProduct(int32_t value, float ratio) {
  int exponent = 0;
  auto significand =
      static_cast<int64_t>(std::round(std::frexp(double{ratio}, &exponent) * std::pow(2.0, 31)));
  if (significand == int64_t{1} << 31) {
    significand /= 2;
    ++exponent;
  }
  if (exponent < -31) return 0;
  const double scaled =
      std::clamp(value * std::pow(2.0, std::max(exponent, 0)), double{kIntMin}, double{kIntMax});
  const auto high = static_cast<int64_t>(
      std::floor((static_cast<long double>(scaled) * static_cast<long double>(significand)) /
                     std::pow(2.0L, 31) +
                 0.5L));
  return static_cast<int32_t>(
      std::round(static_cast<double>(high) / std::pow(2.0, std::max(-exponent, 0))));
}

template <typename T>
void expectAllProducts(OperandType type, float scaleA, float scaleB, float scaleOut,
                       int32_t zeroPoint) {
  std::vector<T> all(256);
  for (int i = 0; i < 256; ++i) all[static_cast<size_t>(i)] = static_cast<T>(i);
  const TestOperand a = TestOperand::of<T>(type, {256, 1}, all, scaleA, zeroPoint);
  const TestOperand b = TestOperand::of<T>(type, {1, 256}, all, scaleB, -zeroPoint & 0x7f);
  const auto results = product(a, b, 0, scaleOut, zeroPoint).template values<T>();
  const float ratio = scaleA * scaleB / scaleOut;
  ASSERT_EQ(results.size(), 256u * 256);
  for (size_t i = 0; i < results.size(); ++i) {
    const int32_t x = (all[i / 256] - zeroPoint) * (all[i % 256] - (-zeroPoint & 0x7f));
    const int64_t q = int64_t{scaledProduct(x, ratio)} + zeroPoint;
    const auto expected = static_cast<T>(
        std::clamp<int64_t>(q, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    ASSERT_EQ(results[i], expected) << fmt::format("ratio {} product {}", ratio, x);
  }
}

TEST(QuantizedMul, IsTheFixedPointDefinitionForAllPairsOfBytes) {
  // Ratios above one, equal to one, below one, and some that single precision changes.
  for (const float scaleOut : {0.0003f, 0.002f, 0.0025f, 0.02f, 1e-7f, 1e-30f, 50.0f}) {
    expectAllProducts<uint8_t>(TENSOR_QUANT8_ASYMM, 0.05f, 0.05f, scaleOut, 3);
    expectAllProducts<int8_t>(TENSOR_QUANT8_ASYMM_SIGNED, 0.037f, 0.021f, scaleOut, -5);
  }
}

TEST(QuantizedMul, ByHand) {
  // 0.5 * 0.5 over 0.1 is 2.5. 3 * 1 -> 7.5 and -3 * 1 -> -7.5 both round up.
  const TestOperand a =
      TestOperand::of<int8_t>(TENSOR_QUANT8_ASYMM_SIGNED, {4}, {3, -3, 2, 100}, 0.5f, 0);
  const TestOperand b = TestOperand::of<int8_t>(TENSOR_QUANT8_ASYMM_SIGNED, {1}, {1}, 0.5f, 0);
  EXPECT_THAT(product(a, b, 0, 0.1f, 0).values<int8_t>(), ElementsAre(8, -7, 5, 127));
  EXPECT_THAT(product(a, b, 1, 0.1f, 0).values<int8_t>(), ElementsAre(8, 0, 5, 127));
  // RELU1: at most 1 / 0.1 units.
  EXPECT_THAT(product(a, b, 2, 0.1f, 0).values<int8_t>(), ElementsAre(8, -7, 5, 10));
  EXPECT_THAT(product(a, b, 3, 0.1f, 0).values<int8_t>(), ElementsAre(8, 0, 5, 60));
}

TEST(QuantizedMul, Refuses) {
  const TestOperand a = TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {2}, {1, 2}, 1e30f, 0);
  const TestOperand b = TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {3}, {1, 2, 3}, 1e30f, 0);
  const TestOperand out = TestOperand::output(TENSOR_QUANT8_ASYMM, 1, 0);
  const auto refuses = [&](const TestOperand& y, int32_t activation, const std::string& text) {
    expectFailure(OperationType::QUANTIZED_MUL, {a, y, TestOperand::int32(activation)}, {out},
                  text);
  };
  refuses(a, 0, "over the output's 1 are inf, expected a finite number");
  refuses(a, 4, "activation is 4, expected 0 (none)");
  TestOperand fine = b;
  fine.tensor.scale = 1e-30f;
  refuses(fine, 0, "[2]");
}

}  // namespace
}  // namespace halyard::ops::testing

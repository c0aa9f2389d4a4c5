// Tests of fused activations and requantisation.
#include "ops/activation.h"

#include <gtest/gtest.h>

#include <limits>

#include "ops/testing/test_operand.h"

namespace halyard::ops {
namespace {

using enum OperandType;

TEST(Requantize, RoundsHalfAwayFromZero) {
  EXPECT_EQ(roundHalfAway(0.5), 1);
  EXPECT_EQ(roundHalfAway(-0.5), -1);
  EXPECT_EQ(roundHalfAway(0.49999999999999994), 0);
  EXPECT_EQ(roundHalfAway(-0.49999999999999994), 0);
  EXPECT_EQ(roundHalfAway(1.5), 2);
  EXPECT_EQ(roundHalfAway(2.4999999999999996), 2);
  EXPECT_EQ(roundHalfAway(-2.5), -3);
  EXPECT_EQ(roundHalfAway(4503599627370495.0), 4503599627370495.0 / 1);
  for (int i = -4000; i <= 4000; ++i) {
    const double x = i / 16.0;
    EXPECT_EQ(roundHalfAway(x), std::round(x)) << x;
  }
}

TEST(Requantize, SaturatesAnyDouble) {
  const ClampRange<int32_t> range = {-128, 127};
  EXPECT_EQ(quantizeUnits(126.5 - 3, 3, range), 127);
  EXPECT_EQ(quantizeUnits(126.4 - 3, 3, range), 126);
  EXPECT_EQ(quantizeUnits(-131.5, 3, range), -128);
  EXPECT_EQ(quantizeUnits(1e300, 3, range), 127);
  EXPECT_EQ(quantizeUnits(-std::numeric_limits<double>::infinity(), 3, range), -128);
  EXPECT_EQ(quantizeUnits(std::numeric_limits<double>::quiet_NaN(), 3, range), -128);
}

TEST(Requantize, BetweenTypes) {
  Tensor from;
  from.type = TENSOR_QUANT8_ASYMM;
  from.scale = 0.5f;
  from.zeroPoint = 128;
  Tensor to;
  to.type = TENSOR_QUANT8_ASYMM_SIGNED;
  to.scale = 0.25f;
  to.zeroPoint = -4;
  EXPECT_EQ(requantize(130, from, to), 0);
  EXPECT_EQ(requantize(255, from, to), 127);
  EXPECT_EQ(requantize(0, from, to), -128);
  for (int q = 0; q < 256; ++q) EXPECT_EQ(requantize(q, from, from), q);
}

TEST(Activation, FloatRanges) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto apply = [](FuseCode code, float x) { return clampTo(x, activationRange(code)); };
  EXPECT_EQ(apply(FuseCode::NONE, -infinity), -infinity);
  EXPECT_EQ(apply(FuseCode::RELU, -2.0f), 0.0f);
  EXPECT_EQ(apply(FuseCode::RELU, infinity), infinity);
  EXPECT_EQ(apply(FuseCode::RELU1, -2.0f), -1.0f);
  EXPECT_EQ(apply(FuseCode::RELU1, 2.0f), 1.0f);
  EXPECT_EQ(apply(FuseCode::RELU6, 7.0f), 6.0f);
  EXPECT_EQ(apply(FuseCode::RELU6, 5.5f), 5.5f);
  EXPECT_TRUE(std::isnan(apply(FuseCode::RELU6, std::numeric_limits<float>::quiet_NaN())));
}

void expectRange(FuseCode code, OperandType type, float scale, int32_t zeroPoint, int32_t min,
                 int32_t max) {
  const ClampRange<int32_t> range = activationRange(code, type, scale, zeroPoint);
  EXPECT_EQ(range.min, min);
  EXPECT_EQ(range.max, max);
}

TEST(Activation, QuantizedRanges) {
  expectRange(FuseCode::NONE, TENSOR_QUANT8_ASYMM, 0.1f, 100, 0, 255);
  expectRange(FuseCode::RELU, TENSOR_QUANT8_ASYMM, 0.1f, 100, 100, 255);
  expectRange(FuseCode::RELU1, TENSOR_QUANT8_ASYMM, 0.1f, 100, 90, 110);
  expectRange(FuseCode::RELU6, TENSOR_QUANT8_ASYMM, 0.1f, 100, 100, 160);
  expectRange(FuseCode::RELU6, TENSOR_QUANT8_ASYMM, 0.01f, 100, 100, 255);
  expectRange(FuseCode::RELU1, TENSOR_QUANT8_ASYMM_SIGNED, 0.4f, -127, -128, -124);
  expectRange(FuseCode::RELU, TENSOR_QUANT8_ASYMM_SIGNED, 0.4f, -128, -128, 127);
  // The smallest legal scale must not overflow.
  expectRange(FuseCode::RELU6, TENSOR_QUANT8_ASYMM_SIGNED, 1e-45f, -128, -128, 127);
}

TEST(Activation, ReadsItsCode) {
  for (int32_t value : {-1, 0, 3, 4, 6}) {
    testing::TestOperand operand = testing::TestOperand::int32(value);
    operand.tensor.data = operand.bytes.data();
    const OperationContext context({&operand.tensor, 1}, {}, nullptr);
    FuseCode code = FuseCode::NONE;
    const Status status = readFuseCode(context, 0, &code);
    EXPECT_EQ(status.ok(), value >= 0 && value <= 3) << value;
    if (status.ok()) {
      EXPECT_EQ(static_cast<int32_t>(code), value);
    }
  }
}

}  // namespace
}  // namespace halyard::ops

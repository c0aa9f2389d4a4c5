// Tests of QUANTIZE_16 and DEQUANTIZE_16.
#include <cmath>

#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;

TEST(Quantize16, RoundsHalvesAwayFromZeroAndClamps) {
  const TestOperand x =
      TestOperand::of<float>(TENSOR_FLOAT32, {7}, {0.25f, -0.25f, 0.2f, 3, 1e9f, -1e9f, NAN});
  const TestOperand result =
      resultOf(OperationType::QUANTIZE_16, {x}, TestOperand::output(TENSOR_QUANT16_SYMM, 0.5f));
  EXPECT_THAT(result.values<int16_t>(), ElementsAre(1, -1, 0, 6, 32767, -32768, -32768));
}

TEST(Dequantize16, MultipliesByTheScale) {
  TestOperand x = TestOperand::of<int16_t>(TENSOR_QUANT16_SYMM, {1, 3}, {-32768, 0, 3});
  x.tensor.scale = 0.25f;
  const TestOperand result =
      resultOf(OperationType::DEQUANTIZE_16, {x}, TestOperand::output(TENSOR_FLOAT32));
  EXPECT_EQ(result.tensor.dims, (Shape{1, 3}));
  EXPECT_THAT(result.values<float>(), ElementsAre(-8192, 0, 0.75f));
}

}  // namespace
}  // namespace halyard::ops::testing

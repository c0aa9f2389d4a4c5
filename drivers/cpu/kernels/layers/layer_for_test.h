// Helpers that the tests of convolutions and full connections share.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include <algorithm>
#include <iterator>

#include "kernels/kernel_for_test.h"
#include "ops/conv_for_test.h"
#include "ops/testing/random_window.h"

namespace halyard::cpudriver::testing {

// The types that have kernels on every instruction set.
inline constexpr ops::testing::ConvTypeCase kLayerTypes[] = {
    {OperandType::TENSOR_FLOAT32, false},
    {OperandType::TENSOR_QUANT8_ASYMM, false},
    {OperandType::TENSOR_QUANT8_ASYMM, true},
    {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, false},
    {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, true}};

// A square filter with padding scheme SAME.
inline ops::testing::TestWindow sameWindow(int height, int width, int filter, int stride) {
  ops::testing::TestWindow window;
  window.scheme = 1;
  const auto axis = [&](int input) {
    const int output = (input + stride - 1) / stride;
    const int surplus = std::max(0, (output - 1) * stride + filter - input);
    return ops::testing::TestAxis{input, filter, stride, 1, surplus / 2, surplus - surplus / 2,
                                  output};
  };
  window.height = axis(height);
  window.width = axis(width);
  return window;
}

}  // namespace halyard::cpudriver::testing

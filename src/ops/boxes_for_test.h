// Operands of the operations on boxes, made from real values, for tests.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {

// Types that can be combined.
struct BoxTypes {
  OperandType main;
  OperandType coordinates;
  OperandType anchors;
};
inline constexpr BoxTypes kBoxTypes[] = {
    {OperandType::TENSOR_FLOAT32, OperandType::TENSOR_FLOAT32, OperandType::TENSOR_FLOAT32},
    {OperandType::TENSOR_FLOAT16, OperandType::TENSOR_FLOAT16, OperandType::TENSOR_FLOAT16},
    {OperandType::TENSOR_QUANT8_ASYMM, OperandType::TENSOR_QUANT16_ASYMM,
     OperandType::TENSOR_QUANT16_SYMM},
    {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, OperandType::TENSOR_QUANT16_ASYMM,
     OperandType::TENSOR_QUANT16_SYMM}};

inline bool isQuant16(OperandType type) {
  return type == OperandType::TENSOR_QUANT16_ASYMM || type == OperandType::TENSOR_QUANT16_SYMM;
}

// Returns an operand of these values, rounded to its type.
inline TestOperand operandOf(OperandType type, const Shape& dims, const std::vector<double>& reals,
                             float scale = 0, int32_t zeroPoint = 0) {
  const auto make = [&]<typename T>(T) {
    std::vector<T> values;
    for (double real : reals) {
      const ClampRange<int32_t> range = quantizedRange(type);
      values.push_back(static_cast<T>(std::clamp<double>(
          std::round(real / static_cast<double>(scale)) + zeroPoint, range.min, range.max)));
    }
    return TestOperand::of<T>(type, dims, values, scale, zeroPoint);
  };
  switch (type) {
    case OperandType::TENSOR_FLOAT32:
      return TestOperand::of<float>(type, dims, {reals.begin(), reals.end()});
    case OperandType::TENSOR_FLOAT16: {
      std::vector<Float16> halves;
      for (double real : reals) halves.push_back(toFloat16(static_cast<float>(real)));
      return TestOperand::of<Float16>(type, dims, halves);
    }
    case OperandType::TENSOR_QUANT8_ASYMM:
      return make(uint8_t{});
    case OperandType::TENSOR_QUANT16_ASYMM:
      return make(uint16_t{});
    case OperandType::TENSOR_QUANT16_SYMM:
      return make(int16_t{});
    default:
      return make(int8_t{});
  }
}
inline TestOperand coordinateTensor(OperandType type, const Shape& dims,
                                    const std::vector<double>& reals) {
  return operandOf(type, dims, reals, isQuant16(type) ? 0.125f : 0.0f);
}
inline TestOperand coordinatesOutput(OperandType type) {
  return TestOperand::output(type, isQuant16(type) ? 0.125f : 0.0f);
}

// As realValues, which does not support 16-bit types.
inline std::vector<double> boxReals(const TestOperand& operand) {
  if (!isQuant16(operand.tensor.type)) return realValues(operand);
  std::vector<double> reals;
  for (uint16_t stored : operand.values<uint16_t>()) {
    const bool isSigned = operand.tensor.type == OperandType::TENSOR_QUANT16_SYMM;
    reals.push_back(0.125 * (isSigned ? static_cast<int16_t>(stored) : stored));
  }
  return reals;
}

// Expects floats within the conformance tolerances (and `slack`), and quantised values within
// rounding to nearest.
inline void expectBoxReals(const TestOperand& actual, const std::vector<double>& expected,
                           const std::string& what, double slack = 0) {
  const std::vector<double> reals = boxReals(actual);
  const OperandType type = actual.tensor.type;
  ASSERT_EQ(reals.size(), expected.size()) << what;
  const double scale = static_cast<double>(actual.tensor.scale);
  for (size_t i = 0; i < reals.size(); ++i) {
    double wanted = expected[i];
    double tolerance = 1e-5 + slack + std::abs(wanted) * 5 / (1 << 23);
    if (type == OperandType::TENSOR_FLOAT16) {
      tolerance = slack + (1 + std::abs(wanted)) * 5 / 1024;
    } else if (scale > 0) {
      const ClampRange<int32_t> range = quantizedRange(type);
      wanted = std::clamp(wanted, scale * (range.min - actual.tensor.zeroPoint),
                          scale * (range.max - actual.tensor.zeroPoint));
      tolerance = scale * 0.501 + slack;
    }
    ASSERT_NEAR(reals[i], wanted, tolerance) << what << ", element " << i;
  }
}

// Returns 1 to `count` in random order.
inline std::vector<int> shuffledLevels(RandomOperands& random, size_t count) {
  std::vector<int> levels(count);
  std::iota(levels.begin(), levels.end(), 1);
  for (size_t i = count; i > 1; --i) {
    std::swap(levels[i - 1],
              levels[static_cast<size_t>(random.between(0, static_cast<int>(i) - 1))]);
  }
  return levels;
}

// Returns x1, y1, x2, y2 in multiples of 1/8 within [0, width] and [0, height]. Every type
// represents them exactly.
inline std::vector<double> randomBox(RandomOperands& random, int width, int height) {
  const auto pair = [&](int limit) {
    return std::minmax({random.between(0, limit * 8), random.between(0, limit * 8)});
  };
  const auto [x1, x2] = pair(width);
  const auto [y1, y2] = pair(height);
  return {x1 / 8.0, y1 / 8.0, x2 / 8.0, y2 / 8.0};
}

inline void append(std::vector<double>& to, const std::vector<double>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

using RealBox = std::array<double, 4>;  // x1, y1, x2, y2

inline double overlapOf(const RealBox& a, const RealBox& b) {
  const auto area = [](const RealBox& box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  const double shared = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]), 0.0) *
                        std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]), 0.0);
  return shared / (area(a) + area(b) - shared);
}

// Returns a box after its delta (dx, dy, dw, dh), clipped to an image.
inline RealBox movedBox(const RealBox& box, const double* delta, double height, double width) {
  RealBox result;
  const double sizes[] = {width, height};
  for (size_t axis : {size_t{0}, size_t{1}}) {
    const double size = box[axis + 2] - box[axis];
    const double center = box[axis] + size / 2 + delta[axis] * size;
    const double half = size * std::exp(delta[axis + 2]) / 2;
    result[axis] = std::clamp(center - half, 0.0, sizes[axis]);
    result[axis + 2] = std::clamp(center + half, 0.0, sizes[axis]);
  }
  return result;
}

// Checks the inference of an operation whose shapes depend on all its values. With any one of them
// unknown, it is INCOMPLETE.
inline void expectNeedsEveryValue(OperationType type, std::vector<TestOperand> operands,
                                  size_t outputCount) {
  for (size_t unknown = 0; unknown < operands.size(); ++unknown) {
    std::vector<Tensor> inputs;
    for (TestOperand& operand : operands) {
      inputs.push_back(operand.tensor);
      inputs.back().data = operand.bytes.data();
    }
    inputs[unknown].data = nullptr;
    std::vector<Tensor> outputs(outputCount);
    OperationContext context(inputs, outputs, nullptr);
    EXPECT_EQ(inferShapes(*definitionOf(type), context).code(), ResultCode::INCOMPLETE) << unknown;
  }
}

}  // namespace halyard::ops::testing

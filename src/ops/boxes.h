// Boxes of images as operands: their storage, checks, and regression deltas.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "base/float16.h"
#include "ops/box_suppression.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/requantize.h"

namespace halyard::ops {

// The only quantisation of stored coordinates and image sizes.
inline constexpr float kCoordinateScale = 0.125f;

// The columns of boxRows.
enum BoxColumn : int {
  kMainColumn,        // scores, feature maps
  kCoordinateColumn,  // boxes and image sizes
  kScalarColumn,      // thresholds and ratios
  kAnchorColumn,      // boxes that may lie outside the image
};
// The type rows of all operations on boxes.
inline std::vector<TypeRow> boxRows() {
  using enum FeatureLevel;
  using enum OperandType;
  return {{FL3, {TENSOR_FLOAT32, TENSOR_FLOAT32, FLOAT32, TENSOR_FLOAT32}},
          {FL3, {TENSOR_FLOAT16, TENSOR_FLOAT16, FLOAT16, TENSOR_FLOAT16}},
          {FL3, {TENSOR_QUANT8_ASYMM, TENSOR_QUANT16_ASYMM, FLOAT32, TENSOR_QUANT16_SYMM}},
          {FL4, {TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT16_ASYMM, FLOAT32, TENSOR_QUANT16_SYMM}}};
}

// Checks that operands with coordinates or image sizes, given with names, have this quantisation if
// quantised.
inline Status checkCoordinates(
    std::initializer_list<std::pair<const Tensor*, std::string_view>> operands) {
  for (const auto& [tensor, name] : operands) {
    const bool quantized = tensor->type == OperandType::TENSOR_QUANT16_ASYMM ||
                           tensor->type == OperandType::TENSOR_QUANT16_SYMM;
    if (!quantized || (tensor->scale == kCoordinateScale && tensor->zeroPoint == 0)) continue;
    return opFailed("{} has scale {} and zero point {}, expected 0.125 and 0", name, tensor->scale,
                    tensor->zeroPoint);
  }
  return okStatus();
}

inline Status checkShape(const Tensor& tensor, const Shape& expected, std::string_view name) {
  if (tensor.dims == expected) return okStatus();
  return opFailed("{} has shape {}, expected {}", name, realShapeText(tensor.dims),
                  realShapeText(expected));
}

// Returns INCOMPLETE when inference needs the unknown elements of input i.
inline Status checkKnown(const OperationContext& context, size_t i) {
  if (context.input(i).data != nullptr) return okStatus();
  return makeStatus(ResultCode::INCOMPLETE, "the value of input {} is not known yet", i);
}

// Returns the real value of an element. It handles float16, because inference sees operands in
// stored form.
inline float realAt(const Tensor& tensor, size_t i) {
  const auto real = [&](int32_t q) {
    return tensor.scale * static_cast<float>(q - tensor.zeroPoint);
  };
  switch (tensor.type) {
    case OperandType::TENSOR_FLOAT32:
      return tensor.as<float>()[i];
    case OperandType::TENSOR_FLOAT16:
      return toFloat(tensor.as<Float16>()[i]);
    case OperandType::TENSOR_QUANT8_ASYMM:
      return real(tensor.as<uint8_t>()[i]);
    case OperandType::TENSOR_QUANT16_ASYMM:
      return real(tensor.as<uint16_t>()[i]);
    case OperandType::TENSOR_QUANT16_SYMM:
      return real(tensor.as<int16_t>()[i]);
    default:
      return real(tensor.as<int8_t>()[i]);
  }
}

// Stores a real value, rounded and clamped for the type. Any float is legal.
inline void setReal(Tensor& tensor, size_t i, float value) {
  const auto quantized = [&] {
    return quantizeUnits(static_cast<double>(value) / static_cast<double>(tensor.scale),
                         tensor.zeroPoint, quantizedRange(tensor.type));
  };
  switch (tensor.type) {
    case OperandType::TENSOR_FLOAT32:
      tensor.as<float>()[i] = value;
      break;
    case OperandType::TENSOR_FLOAT16:
      tensor.as<Float16>()[i] = toFloat16(value);
      break;
    case OperandType::TENSOR_QUANT8_ASYMM:
      tensor.as<uint8_t>()[i] = static_cast<uint8_t>(quantized());
      break;
    case OperandType::TENSOR_QUANT16_ASYMM:
      tensor.as<uint16_t>()[i] = static_cast<uint16_t>(quantized());
      break;
    default:
      tensor.as<int8_t>()[i] = static_cast<int8_t>(quantized());
      break;
  }
}

// Returns box i of a tensor with rows x1, y1, x2, y2.
inline Box boxAt(const Tensor& tensor, size_t i) {
  return {realAt(tensor, i * 4 + 1), realAt(tensor, i * 4), realAt(tensor, i * 4 + 3),
          realAt(tensor, i * 4 + 2)};
}
inline void setBox(Tensor& tensor, size_t i, const Box& box) {
  const float row[] = {box.x1, box.y1, box.x2, box.y2};
  for (size_t k = 0; k < 4; ++k) setReal(tensor, i * 4 + k, row[k]);
}

// Checks the order of the corners; NaN fails.
inline Status checkCorners(const Box& box, std::string_view name, size_t i) {
  if (box.x1 <= box.x2 && box.y1 <= box.y2) return okStatus();
  return opFailed("{} {} is from ({}, {}) to ({}, {}), expected x1 <= x2 and y1 <= y2", name, i,
                  box.x1, box.y1, box.x2, box.y2);
}

// Checks that entry i of a list of batch indices lies in [0, batches).
inline Status checkBatchIndex(int32_t index, size_t i, size_t batches) {
  if (index >= 0 && static_cast<size_t>(index) < batches) return okStatus();
  return opFailed("batch index {} is {}, expected 0 to {}", i, index, batches - 1);
}

struct ImageSize {
  float height;
  float width;
};
// Reads entry i of a tensor with rows height, width.
inline ImageSize imageSizeAt(const Tensor& tensor, size_t i) {
  return {realAt(tensor, i * 2), realAt(tensor, i * 2 + 1)};
}

// The move of a box (in units of its size) and its scaling (as logarithms): dx, dy, dw, dh.
using BoxDelta = std::array<float, 4>;

// Returns the box after its delta, clipped to the image. A delta may overflow to infinity, and
// values computed from it may be NaN.
inline Box transformBox(const Box& box, const BoxDelta& delta, ImageSize image) {
  const float width = box.x2 - box.x1;
  const float height = box.y2 - box.y1;
  const float centerX = (box.x1 + box.x2) / 2 + delta[0] * width;
  const float centerY = (box.y1 + box.y2) / 2 + delta[1] * height;
  const float halfWidth = std::exp(delta[2]) * width / 2;
  const float halfHeight = std::exp(delta[3]) * height / 2;
  // std::clamp is undefined for an image of negative size.
  const auto clip = [](float x, float limit) { return std::min(std::max(x, 0.0f), limit); };
  return {clip(centerY - halfHeight, image.height), clip(centerX - halfWidth, image.width),
          clip(centerY + halfHeight, image.height), clip(centerX + halfWidth, image.width)};
}

}  // namespace halyard::ops

// Tensors of a model seen as numbers and as .npy arrays.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "media/npy.h"

namespace halyard::measure {

// How the elements of a model's input or output are to be read.
struct TensorType {
  OperandType type = OperandType::TENSOR_FLOAT32;
  float scale = 0;
  int32_t zeroPoint = 0;
};

// The real values: quantised elements as (q - zeroPoint) * scale, booleans as 0 and 1. Per-channel
// types have no single scale and give BAD_DATA, as do extension types and bytes that are not a
// whole number of elements.
Result<std::vector<float>> realValues(const TensorType& tensor, std::span<const uint8_t> bytes);

// NumPy's name for the elements as they are stored ("u1", "f4", ...); empty for types without one.
std::string_view npyTypeOf(OperandType type);

// The tensor as an array of its stored elements. BAD_DATA for types without a NumPy name.
Result<media::NpyArray> toNpy(OperandType type, const Shape& dims, std::span<const uint8_t> bytes);

// The array's bytes if its elements and shape are those of the tensor (where a 0 in `dims` accepts
// every extent, and an empty list every shape); otherwise BAD_DATA with both sides.
Result<std::vector<uint8_t>> fromNpy(OperandType type, const Shape& dims,
                                     const media::NpyArray& array);

// A file name without its extension made from a tensor's name: everything but letters, digits, '-',
// '_' and '.' becomes '_', a leading '.' too; at most 100 characters; `fallback` for an empty name.
std::string fileNameOf(std::string_view tensorName, std::string_view fallback);

}  // namespace halyard::measure

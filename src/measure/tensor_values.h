// Converts tensors of a model to numbers and to .npy arrays.
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

// The type and quantisation parameters of an input or output of a model.
struct TensorType {
  OperandType type = OperandType::TENSOR_FLOAT32;
  float scale = 0;
  int32_t zeroPoint = 0;
};

// Appends the bytes of an element of a tensor, in host byte order.
template <typename T>
void appendElement(std::vector<uint8_t>* bytes, T element) {
  const auto* begin = reinterpret_cast<const uint8_t*>(&element);
  bytes->insert(bytes->end(), begin, begin + sizeof(T));
}

// The real values. Quantised elements become (q - zeroPoint) * scale, booleans become 0 and 1.
// BAD_DATA for per-channel types, which have no single scale, for extension types, and for bytes
// that are not a whole number of elements.
Result<std::vector<float>> realValues(const TensorType& tensor, std::span<const uint8_t> bytes);

// The NumPy name of the stored elements, such as "u1" or "f4". Empty for types without one.
std::string_view npyTypeOf(OperandType type);

// The tensor as an array of its stored elements. BAD_DATA for types without a NumPy name.
Result<media::NpyArray> toNpy(OperandType type, const Shape& dims, std::span<const uint8_t> bytes);

// The bytes of the array, if its elements and shape are those of the tensor. A 0 in `dims` accepts
// each extent, and an empty list accepts each shape. Otherwise BAD_DATA with both types and shapes.
Result<std::vector<uint8_t>> fromNpy(OperandType type, const Shape& dims,
                                     const media::NpyArray& array);

// Makes a file name without extension from the name of a tensor. All characters except letters,
// digits, '-', '_' and '.' become '_'; also a '.' at the start. The result has at most 100
// characters. `fallback` is the result for an empty name.
std::string fileNameOf(std::string_view tensorName, std::string_view fallback);

}  // namespace halyard::measure

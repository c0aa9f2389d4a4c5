// Values of a model's inputs and outputs as .npy arrays, in the types that the model's file has.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halyard/driver/status.h"
#include "import/tflite/importer.h"
#include "media/npy.h"

namespace halyard::measure {

// A value of these real dimensions. Integers of 64 bits in the file are that in the array,
// complex numbers are one element each.
Result<media::NpyArray> toPortArray(const import::ModelPort& port, const Shape& dims,
                                    std::span<const uint8_t> bytes);

struct PortValue {
  Shape dims;
  std::vector<uint8_t> bytes;
};
// The reverse. BAD_DATA unless the array has the file's type, or the operand's, and its shape, or
// when an integer needs more than 32 bits.
Result<PortValue> fromPortArray(const import::ModelPort& port, const media::NpyArray& array);

}  // namespace halyard::measure

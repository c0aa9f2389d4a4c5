// Converts values of inputs and outputs to and from .npy arrays with the types of the model file.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halyard/driver/status.h"
#include "import/tflite/importer.h"
#include "media/npy.h"

namespace halyard::measure {

// A value with the real dimensions `dims`. If the file has 64-bit integers, the array has them too.
// A complex number is one element.
Result<media::NpyArray> toPortArray(const import::ModelPort& port, const Shape& dims,
                                    std::span<const uint8_t> bytes);

struct PortValue {
  Shape dims;
  std::vector<uint8_t> bytes;
};
// The reverse. The array must have the type of the file or of the operand, and the shape of the
// operand. BAD_DATA otherwise, and when an integer needs more than 32 bits.
Result<PortValue> fromPortArray(const import::ModelPort& port, const media::NpyArray& array);

}  // namespace halyard::measure

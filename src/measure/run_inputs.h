// Makes the inputs of one execution from pictures, .npy files or a random generator.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halyard/driver/status.h"
#include "import/tflite/importer.h"
#include "measure/preprocess.h"
#include "media/image.h"

namespace halyard::measure {

struct InputOptions {
  std::string image;    // path of a picture; empty: no picture
  PixelOptions pixels;  // conversion of the picture to numbers
  // The name of the input, or its number if no input has that name, and the path of an .npy file.
  std::vector<std::pair<std::string, std::string>> arrays;
  std::optional<uint64_t> randomSeed;  // for all inputs without another value
};

struct PreparedInput {
  Shape dimensions;  // fully known
  std::vector<uint8_t> bytes;
  std::string how;  // the source of the values, as a text for people
};
struct PreparedInputs {
  std::vector<PreparedInput> inputs;    // in the order of the model
  std::optional<media::Image> picture;  // as it was read, with 3 channels
};

// Makes values for all inputs of the model. BAD_DATA with the name of an input that has no value or
// a value that does not fit.
//
// The picture goes to the only input that has the shape of a picture (see imageGeometry) and no
// array. It is resized if the model fixes height and width.
//
// Random values come from a 64-bit Mersenne Twister and depend only on the seed. Floats lie in
// [-1,1). Quantised elements take all values. Other integers and booleans are 0 or 1. Unknown
// dimensions count as 1.
Result<PreparedInputs> prepareInputs(std::span<const import::ModelPort> ports,
                                     const InputOptions& options);

// For example "\"name\" TENSOR_FLOAT32[1,640]". The name is printed without control characters.
std::string portText(const import::ModelPort& port);
// For example " (INT64 in the file)" if the elements in the file have another type than the
// operand. Otherwise empty.
std::string_view formText(const import::ModelPort& port);

}  // namespace halyard::measure

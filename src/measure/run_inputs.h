// The inputs of one execution, from pictures, .npy files or a random generator.
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
  std::string image;    // path of a picture; empty: none
  PixelOptions pixels;  // how it becomes numbers
  // Input's name, or its number when no name is that, and path of an .npy file.
  std::vector<std::pair<std::string, std::string>> arrays;
  std::optional<uint64_t> randomSeed;  // for all inputs that nothing else is given for
};

struct PreparedInput {
  Shape dimensions;  // fully known
  std::vector<uint8_t> bytes;
  std::string how;  // where it comes from, for people
};
struct PreparedInputs {
  std::vector<PreparedInput> inputs;    // in the model's order
  std::optional<media::Image> picture;  // as it was read, 3 channels
};

// Values for all of the model's inputs, or BAD_DATA that says which is missing or does not fit.
//
// The picture goes to the only input that has the shape of a picture (see imageGeometry) and no
// array; it is resized to the model's height and width where the model fixes them. Random values
// come from a 64-bit Mersenne Twister and depend on nothing but the seed: floats lie in [-1,1),
// quantised elements take all values, other integers and booleans are 0 or 1; unknown dimensions
// are taken as 1.
Result<PreparedInputs> prepareInputs(std::span<const import::ModelPort> ports,
                                     const InputOptions& options);

// "\"name\" TENSOR_FLOAT32[1,640]"; the name without control characters.
std::string portText(const import::ModelPort& port);
// " (INT64 in the file)" where the file's elements are others than the operand's; otherwise empty.
std::string_view formText(const import::ModelPort& port);

}  // namespace halyard::measure

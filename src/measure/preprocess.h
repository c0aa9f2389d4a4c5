// Pictures as input tensors.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "measure/tensor_values.h"
#include "media/image.h"

namespace halyard::measure {

// Where in an input the picture's rows, columns and channels are.
struct ImageGeometry {
  uint32_t height = 0;  // 0: not fixed by the model
  uint32_t width = 0;
  uint32_t channels = 0;  // 1 or 3
};
// [1,H,W,C] or [H,W,C] with C 1 or 3, [1,H,W] as grey; unknown extents but that of C are accepted.
// Only for tensors of float32, float16 and 8-bit asymmetric elements.
std::optional<ImageGeometry> imageGeometry(OperandType type, const Shape& dims);

// How a pixel p of 0 to 255 becomes the real number that the model sees. At most one of the two is
// set; with neither, see imageToTensor.
struct PixelOptions {
  // 0 becomes the first, 255 the second.
  std::optional<std::pair<float, float>> range;
  // (p - mean) / std; one of each for all channels, or one of each per channel.
  std::vector<float> mean;
  std::vector<float> std;
};
// BAD_DATA for options that contradict each other or do not fit `channels`.
Status checkPixelOptions(const PixelOptions& options, uint32_t channels);

struct ImageTensor {
  std::vector<uint8_t> bytes;
  std::string how;  // what was done to the pixels, for people
};

// The elements of a tensor of type `tensor` for the picture's pixels in their order.
//
// Without options, quantised tensors take the raw pixels: as they are for unsigned ones, minus 128
// for signed ones. That is exactly what models expect whose quantised range [(0 - zp) * scale,
// (255 - zp) * scale] is [-1,1], [0,1] or [0,255]; for any other range `how` says that it was
// assumed. Floats take the range [-1,1] for 3 channels and [0,1] for 1, the habit of image models.
//
// With options, the real number is computed as they say and quantised if necessary: rounded to the
// nearest, ties away from zero, and saturated.
Result<ImageTensor> imageToTensor(const media::Image& image, const TensorType& tensor,
                                  const PixelOptions& options);

}  // namespace halyard::measure

// Converts pictures to input tensors.
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

// The rows, columns and channels of the picture that an input takes.
struct ImageGeometry {
  uint32_t height = 0;  // 0: not fixed by the model
  uint32_t width = 0;
  uint32_t channels = 0;  // 1 or 3
};
// [1,H,W,C] or [H,W,C] with C 1 or 3, or [1,H,W] as grey. All extents except C may be unknown. Only
// for tensors of float32, float16 and 8-bit asymmetric elements.
std::optional<ImageGeometry> imageGeometry(OperandType type, const Shape& dims);

// How a pixel p from 0 to 255 becomes a real number for the model. Set at most one of `range` and
// the pair `mean` and `std`. Without either, see imageToTensor.
struct PixelOptions {
  // Maps 0 to the first number and 255 to the second.
  std::optional<std::pair<float, float>> range;
  // (p - mean) / std. Each has one number for all channels, or one number per channel.
  std::vector<float> mean;
  std::vector<float> std;
};
// BAD_DATA for options that contradict each other or do not fit `channels`.
Status checkPixelOptions(const PixelOptions& options, uint32_t channels);

struct ImageTensor {
  std::vector<uint8_t> bytes;
  std::string how;  // the conversion of the pixels, as a text for people
};

// Converts the pixels of the picture, in their order, to elements of a tensor of type `tensor`.
//
// Without options, quantised tensors take the raw pixels: unchanged for unsigned types, minus 128
// for signed ones. This is right for models whose quantised range [(0 - zp) * scale, (255 - zp) *
// scale] is [-1,1], [0,1] or [0,255]. For another range, `how` states that this is an assumption.
// Floats take the range [-1,1] for 3 channels and [0,1] for 1 channel, as is usual for image
// models.
//
// With options, the real number is computed from them. For quantised tensors it is rounded to
// nearest, with ties away from zero, and saturated.
Result<ImageTensor> imageToTensor(const media::Image& image, const TensorType& tensor,
                                  const PixelOptions& options);

}  // namespace halyard::measure

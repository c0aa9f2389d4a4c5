// Distances between neighbours in an image, for both orders of its dimensions.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <cstdint>

#include "ops/conv_geometry.h"

namespace halyard::vulkandriver {

// In elements.
struct ImageSteps {
  int32_t batch;
  int32_t height;
  int32_t width;
  int32_t channel;
};

inline ImageSteps stepsOf(const ops::ImageDims& dims, bool nchw) {
  const auto height = static_cast<int32_t>(dims.height);
  const auto width = static_cast<int32_t>(dims.width);
  const auto channels = static_cast<int32_t>(dims.channels);
  const int32_t image = height * width * channels;
  if (nchw) return {image, width, 1, height * width};
  return {image, width * channels, channels, 1};
}

}  // namespace halyard::vulkandriver

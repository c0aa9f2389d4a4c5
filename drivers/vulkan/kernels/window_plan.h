// WindowPlan: an operation whose window moves over an image, with all sizes known.
// Thread safety: plain data. Ownership: none.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/image_steps.h"
#include "ops/activation.h"
#include "ops/conv_geometry.h"

namespace halyard::vulkandriver {

// As in shaders/window.comp.
enum class WindowFunction : int32_t { SUM, AVERAGE, NORM, MAXIMUM, TRANSPOSED };

struct FilterSteps {
  int32_t result;  // channel of the result
  int32_t height;
  int32_t width;
  int32_t channel;    // channel of the image
  int32_t batch = 0;  // one filter for each image
};

struct WindowPlan {
  WindowFunction function = WindowFunction::SUM;
  ops::Window window;
  ops::ImageDims input;
  ops::ImageDims output;
  bool nchw = false;
  size_t resultsOfGroup = 1;  // channels
  size_t inputsOfGroup = 1;
  FilterSteps filter = {};
  ops::FuseCode activation = ops::FuseCode::NONE;
  bool hasBias = true;
  std::optional<ImageSteps> inputSteps;  // if other than by `input` and `nchw`
};

}  // namespace halyard::vulkandriver

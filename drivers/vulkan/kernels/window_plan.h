// WindowPlan: an operation whose window moves over an image, with all sizes known.
// Thread safety: plain data and pure functions. Ownership: none.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/image_steps.h"
#include "kernels/recording.h"
#include "ops/activation.h"
#include "ops/conv_geometry.h"

namespace halyard::vulkandriver {

// As in shaders/window.comp, which has no TRANSPOSED.
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

// For shaders whose images have the order [batch][height][width][channels]. The input, or a copy of
// it in this order.
Result<Place> orderedInput(const Site& site, const WindowPlan& plan, Recording& recording);
// The memory that such a shader writes, and the copy to the output that may follow.
Place orderedOutput(const Site& site, const WindowPlan& plan, Recording& recording);
Status finishOutput(const Site& site, const WindowPlan& plan, Place from, Recording& recording);

}  // namespace halyard::vulkandriver

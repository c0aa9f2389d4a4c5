// Geometry of convolutions and pooling: padding, strides and dilations resolved for an image.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "halyard/driver/status.h"
#include "model/signature.h"
#include "ops/operation.h"

namespace halyard::ops {

// The size of a batch of images, for any order of dimensions in memory.
struct ImageDims {
  size_t batch = 0;
  size_t height = 0;
  size_t width = 0;
  size_t channels = 0;
};

// `shape` has rank 4 and is [N,H,W,C], or [N,C,H,W] with `nchw`. H, W and C must be positive.
Status readImageDims(std::string_view name, const Shape& shape, bool nchw, ImageDims* dims);
Shape imageShape(const ImageDims& dims, bool nchw);

// A window that moves along one axis. 64 bits hold every sum and product of 32-bit operands here.
// The largest is the extent of a dilated filter, below 2^63 - 2^32.
struct WindowAxis {
  int64_t input = 0;
  int64_t filter = 0;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t padBefore = 0;
  int64_t output = 0;

  // Returns the input coordinate of the first tap for output coordinate `o`; negative in the
  // padding.
  int64_t origin(int64_t o) const { return o * stride - padBefore; }
};

struct TapRange {
  int64_t begin;
  int64_t end;
};
// Returns the taps u in [0, filter) with origin + u * dilation inside the input; begin <= end.
inline TapRange tapsInside(const WindowAxis& axis, int64_t origin) {
  const auto tapsBelow = [&](int64_t distance) {
    return distance <= 0 ? 0 : (distance + axis.dilation - 1) / axis.dilation;
  };
  const int64_t end = std::min(axis.filter, tapsBelow(axis.input - origin));
  return {std::min(tapsBelow(-origin), end), end};
}

struct Window {
  WindowAxis height;
  WindowAxis width;
};

// Returns the two forms of an operation with a moving window. The inputs are: the tensors; pads or
// padding scheme; strides; `scalars`; the optional layout since level 3; with `dilated`, also the
// optional dilations.
std::vector<Form> windowForms(const std::vector<OperandSpec>& tensors,
                              std::initializer_list<std::string_view> scalars, bool dilated);

// The same forms without dilations, for operations whose layout is not optional.
std::vector<Form> windowFormsWithLayout(const std::vector<OperandSpec>& tensors,
                                        std::initializer_list<std::string_view> scalars);

// Returns which of windowForms an operation follows. `implicitCount` is the minimum number of
// inputs with implicit padding. The next input is the layout there, and an INT32 with explicit
// padding.
inline bool hasExplicitPadding(const OperationContext& context, size_t implicitCount) {
  return context.inputCount() > implicitCount &&
         context.input(implicitCount).type == OperandType::INT32;
}

// The scalar inputs that describe a window.
struct WindowOptions {
  bool explicitPadding = false;
  int32_t padLeft = 0;
  int32_t padRight = 0;
  int32_t padTop = 0;
  int32_t padBottom = 0;
  int32_t paddingScheme = 0;  // for implicit padding; 1 is SAME, any other value means no padding
  int32_t strideWidth = 1;
  int32_t strideHeight = 1;
  int32_t dilationWidth = 1;
  int32_t dilationHeight = 1;
};

// Reads pads or scheme, then strides, from scalar inputs `first` on, and advances `first`.
Status readPaddingAndStrides(const OperationContext& context, bool explicitPadding, size_t* first,
                             WindowOptions* options);

// Reads the layout at `first` and, with `dilated`, the dilations after it, if present.
Status readLayoutAndDilations(const OperationContext& context, size_t first, bool dilated,
                              bool* nchw, WindowOptions* options);

// Checks the options and computes the output size on both axes. Returns OP_FAILED when a stride,
// dilation or filter size is not positive, or no window fits. Also when an explicit pad is
// negative, or not below the dilated filter's extent.
Status resolveWindow(const WindowOptions& options, const ImageDims& input, int64_t filterHeight,
                     int64_t filterWidth, Window* window);

}  // namespace halyard::ops

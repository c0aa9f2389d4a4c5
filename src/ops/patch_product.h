// The matrix product of convolutions: patches of an image times a filter.
// Thread safety: pure functions; several threads may use the problems that they make.
// Ownership: problems borrow the image.
#pragma once

#include <cstring>
#include <memory>
#include <type_traits>

#include "ops/conv_geometry.h"
#include "ops/gemm.h"
#include "ops/multiply_accumulate.h"
#include "ops/operation.h"

namespace halyard::ops {

// One group of channels of a convolution: all channels unless the convolution is grouped.
struct PatchGeometry {
  ImageDims input;
  ImageDims output;  // its channels are not used here
  Window window;
  size_t channelBegin = 0;
  size_t channels = 0;  // number that a patch takes from each cell, from channelBegin on
};

HALYARD_ALWAYS_INLINE void copyPatchValues(const float* from, size_t count, int32_t, float* to) {
  std::memcpy(to, from, count * sizeof(float));
}
template <typename X>
HALYARD_ALWAYS_INLINE void copyPatchValues(const X* from, size_t count, int32_t zeroPoint,
                                           int16_t* to) {
  subtractZeroPoint(from, count, zeroPoint, to);
}

// Returns rows [begin, end) of the matrix of patches, which follow the rows of the output image.
// Each has the values under the filter in the filter's order, with zeros outside the image.
template <typename X, typename T>
HALYARD_ALWAYS_INLINE void gatherPatches(const PatchGeometry* geometry, const X* image,
                                         int32_t zeroPoint, size_t begin, size_t end, T* patches) {
  const WindowAxis& height = geometry->window.height;
  const WindowAxis& width = geometry->window.width;
  const auto inputChannels = static_cast<int64_t>(geometry->input.channels);
  const auto channels = static_cast<int64_t>(geometry->channels);
  const bool contiguous = width.dilation == 1 && channels == inputChannels;
  const int64_t rowLength = width.filter * channels;
  const size_t stride = gemmRowStride<T>(static_cast<size_t>(height.filter * rowLength));
  image += geometry->channelBegin;
  for (size_t row = begin; row < end; ++row, patches += stride) {
    const auto j = static_cast<int64_t>(row % geometry->output.width);
    const auto i = static_cast<int64_t>(row / geometry->output.width % geometry->output.height);
    const auto n = static_cast<int64_t>(row / geometry->output.width / geometry->output.height);
    const int64_t top = height.origin(i);
    const int64_t left = width.origin(j);
    const TapRange columns = tapsInside(width, left);
    for (int64_t u = 0; u < height.filter; ++u) {
      T* to = patches + u * rowLength;
      const int64_t y = top + u * height.dilation;
      if (y < 0 || y >= height.input || columns.begin == columns.end) {
        std::memset(to, 0, static_cast<size_t>(rowLength) * sizeof(T));
        continue;
      }
      const X* line = image + (n * height.input + y) * width.input * inputChannels;
      std::memset(to, 0, static_cast<size_t>(columns.begin * channels) * sizeof(T));
      if (contiguous) {
        copyPatchValues(line + (left + columns.begin) * channels,
                        static_cast<size_t>((columns.end - columns.begin) * channels), zeroPoint,
                        to + columns.begin * channels);
      } else {
        for (int64_t v = columns.begin; v < columns.end; ++v) {
          copyPatchValues(line + (left + v * width.dilation) * inputChannels,
                          static_cast<size_t>(channels), zeroPoint, to + v * channels);
        }
      }
      std::memset(to + columns.end * channels, 0,
                  static_cast<size_t>((width.filter - columns.end) * channels) * sizeof(T));
    }
  }
}

// Returns whether the matrix of patches is the image itself.
inline bool isPointwise(const PatchGeometry& geometry) {
  const WindowAxis& height = geometry.window.height;
  const WindowAxis& width = geometry.window.width;
  return geometry.channels == geometry.input.channels && height.filter == 1 && width.filter == 1 &&
         height.output == height.input && width.output == width.input && height.stride == 1 &&
         width.stride == 1 && height.padBefore == 0 && width.padBefore == 0;
}

// Sets rows, depth and the left side of the product. A row is an output position, a column an
// output channel. X is the type of the image, T the type of the factors.
template <typename X, typename T>
GemmProblem<T> patchProblem(const PatchGeometry& geometry, const Tensor& image) {
  GemmProblem<T> problem;
  problem.rows = geometry.output.batch * geometry.output.height * geometry.output.width;
  problem.depth =
      static_cast<size_t>(geometry.window.height.filter * geometry.window.width.filter) *
      geometry.channels;
  const X* values = image.as<X>();
  if constexpr (std::is_same_v<X, T>) {
    if (isPointwise(geometry)) {
      problem.left = [values, depth = problem.depth](size_t begin, size_t, T*) {
        return values + begin * depth;
      };
      return problem;
    }
  }
  problem.left = [geometry, values, zeroPoint = image.zeroPoint](size_t begin, size_t end,
                                                                 T* buffer) -> const T* {
    runBest<&gatherPatches<X, T>>(&geometry, values, zeroPoint, begin, end, buffer);
    return buffer;
  };
  return problem;
}

}  // namespace halyard::ops

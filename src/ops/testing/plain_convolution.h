// Convolutions as plain loops over real numbers.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include <vector>

#include "ops/testing/random_window.h"

namespace halyard::ops::testing {

// Returns a bias's real values; with a per-channel filter, its own scale is 0.
inline std::vector<double> biasReals(const TestOperand& bias, const TestOperand& input,
                                     const TestOperand& filter) {
  std::vector<double> reals = realValues(bias);
  if (filter.tensor.channelQuant == nullptr) return reals;
  const auto values = bias.values<int32_t>();
  for (size_t c = 0; c < reals.size(); ++c) {
    reals[c] = static_cast<double>(input.tensor.scale) *
               static_cast<double>(filter.tensor.channelQuant->scales[c]) * values[c];
  }
  return reals;
}

// [N,H',W',Co] before the activation: x is [N,H,W,depth], w [Co,FH,FW,depth / groups].
inline std::vector<double> convolved(const TestWindow& window, int depth, int groups,
                                     const std::vector<double>& x, const std::vector<double>& w,
                                     const std::vector<double>& bias) {
  const TestAxis& height = window.height;
  const TestAxis& width = window.width;
  const int channels = static_cast<int>(bias.size());
  const int batch = static_cast<int>(x.size()) / (height.input * width.input * depth);
  const int share = depth / groups;
  std::vector<double> result;
  for (int n = 0; n < batch; ++n) {
    for (int i = 0; i < height.output; ++i) {
      for (int j = 0; j < width.output; ++j) {
        for (int c = 0; c < channels; ++c) {
          const int first = c / (channels / groups) * share;
          double sum = bias[c];
          for (int u = 0; u < height.filter; ++u) {
            for (int v = 0; v < width.filter; ++v) {
              const int y = height.source(i, u);
              const int z = width.source(j, v);
              if (!height.inside(y) || !width.inside(z)) continue;
              for (int k = 0; k < share; ++k) {
                sum += x[((n * height.input + y) * width.input + z) * depth + first + k] *
                       w[((c * height.filter + u) * width.filter + v) * share + k];
              }
            }
          }
          result.push_back(sum);
        }
      }
    }
  }
  return result;
}

// Returns a depthwise filter [1,FH,FW,Co] in the order [Co,FH,FW,1]. A depthwise convolution is a
// convolution with as many groups as the input has channels.
inline std::vector<double> depthwiseAsGrouped(const std::vector<double>& w, size_t channels) {
  std::vector<double> result;
  for (size_t c = 0; c < channels; ++c) {
    for (size_t tap = 0; tap < w.size() / channels; ++tap) result.push_back(w[tap * channels + c]);
  }
  return result;
}

// The transposed convolution of x [N,H,W,depth] with w [Co,FH,FW,depth], by its definition: every
// input value is spread over the output. In the axes, `output` is the output's size, and padBefore
// is the number of positions cut off before it.
inline std::vector<double> transposeConvolved(const TestWindow& window, int depth,
                                              const std::vector<double>& x,
                                              const std::vector<double>& w,
                                              const std::vector<double>& bias) {
  const TestAxis& height = window.height;
  const TestAxis& width = window.width;
  const int channels = static_cast<int>(bias.size());
  const int batch = static_cast<int>(x.size()) / (height.input * width.input * depth);
  std::vector<double> result;
  for (int i = 0; i < batch * height.output * width.output; ++i) {
    result.insert(result.end(), bias.begin(), bias.end());
  }
  const auto spread = [&](int n, int h, int z, int u, int v) {
    const int i = h * height.stride + u - height.padBefore;
    const int j = z * width.stride + v - width.padBefore;
    if (i < 0 || i >= height.output || j < 0 || j >= width.output) return;
    for (int c = 0; c < channels; ++c) {
      for (int k = 0; k < depth; ++k) {
        result[((n * height.output + i) * width.output + j) * channels + c] +=
            x[((n * height.input + h) * width.input + z) * depth + k] *
            w[((c * height.filter + u) * width.filter + v) * depth + k];
      }
    }
  };
  for (int n = 0; n < batch; ++n) {
    for (int h = 0; h < height.input; ++h) {
      for (int z = 0; z < width.input; ++z) {
        for (int u = 0; u < height.filter; ++u) {
          for (int v = 0; v < width.filter; ++v) spread(n, h, z, u, v);
        }
      }
    }
  }
  return result;
}

}  // namespace halyard::ops::testing

// Depthwise convolution, for each line of the output. The positions whose taps all lie inside the
// image are computed together. Positions at the edges, with taps on padding, are computed one by
// one.
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "kernels/layers/conv_chain.h"
#include "kernels/layers/conv_site.h"
#include "kernels/layers/depthwise_multiplier.h"
#include "kernels/layers/depthwise_quant8.h"
#include "kernels/layers/depthwise_rows.h"
#include "kernels/layers/depthwise_slices.h"
#include "kernels/makers.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kMostTaps = 256;
// Products that are worth a range, and a second thread.
constexpr size_t kRangeWork = 1 << 15;
constexpr size_t kThreadWork = 1 << 16;

constexpr size_t kMostWideChannels = 2048;

// Channels, rounded up to the number that every kernel reads at once.
size_t paddedChannels(size_t channels) { return (channels + 63) / 64 * 64; }

// Where the window moves by one, adjacent positions are like one position with a multiple of the
// channels. Returns the fewest channels of that kind that fill vectors of `lanes`. Returns 0 where
// this saves less than a tenth of the vectors.
size_t wideChannels(const ConvSite& conv, size_t lanes) {
  const size_t channels = conv.output.channels;
  const size_t wide = std::lcm(channels, lanes);
  const size_t filled = (channels + lanes - 1) / lanes * lanes;
  if (conv.window.width.stride != 1 || 10 * filled < 11 * channels || wide > kMostWideChannels) {
    return 0;
  }
  return wide <= conv.output.width * channels ? wide : 0;
}

// T is the type of an element.
template <typename T>
class LineWalker {
 public:
  LineWalker(const ConvSite& conv, T zero)
      : conv_(conv), padding_(conv.input.width * conv.input.channels) {
    std::fill_n(padding_.data(), padding_.size(), zero);
    const ops::WindowAxis& width = conv.window.width;
    const int64_t extent = (width.filter - 1) * width.dilation;
    while (innerBegin_ < width.output && width.origin(innerBegin_) < 0) ++innerBegin_;
    innerEnd_ = innerBegin_;
    while (innerEnd_ < width.output && width.origin(innerEnd_) + extent < width.input) ++innerEnd_;
  }

  size_t tapCount() const {
    return static_cast<size_t>(conv_.window.height.filter * conv_.window.width.filter);
  }
  size_t step() const {
    return static_cast<size_t>(conv_.window.width.stride) * conv_.input.channels;
  }
  size_t column() const {
    return static_cast<size_t>(conv_.window.width.dilation) * conv_.input.channels;
  }
  bool isGrid3x3() const {
    return conv_.window.height.filter == 3 && conv_.window.width.filter == 3;
  }

  // Calls f(taps, position, count, channels, isInside) for all positions of output line `line`
  // (through all images): taps are those of the first position. Where `wide` is not 0, positions
  // are taken together as ones of `wide` channels as far as possible (see wideChannels).
  template <typename F>
  void walk(const T* image, size_t line, size_t wide, F f) const {
    std::array<const T*, kMostTaps> taps;
    const size_t channels = conv_.output.channels;
    for (int64_t j = 0; j < conv_.window.width.output;) {
      const bool isInside = j >= innerBegin_ && j < innerEnd_;
      const auto inside = static_cast<size_t>(innerEnd_ - j);
      const size_t groups = isInside && wide > 0 ? inside * channels / wide : 0;
      const size_t count = groups > 0 ? groups * (wide / channels) : isInside ? inside : 1;
      findTaps(image, line, j, taps.data());
      f(taps.data(), static_cast<size_t>(j), groups > 0 ? groups : count,
        groups > 0 ? wide : channels, isInside);
      j += static_cast<int64_t>(count);
    }
  }

 private:
  void findTaps(const T* image, size_t line, int64_t j, const T** taps) const {
    const ops::WindowAxis& height = conv_.window.height;
    const ops::WindowAxis& width = conv_.window.width;
    const auto channels = static_cast<int64_t>(conv_.input.channels);
    const auto n = static_cast<int64_t>(line / conv_.output.height);
    const int64_t top = height.origin(static_cast<int64_t>(line % conv_.output.height));
    const int64_t left = width.origin(j);
    for (int64_t u = 0; u < height.filter; ++u) {
      const int64_t y = top + u * height.dilation;
      const bool hasLine = y >= 0 && y < height.input;
      const T* const from =
          hasLine ? image + (n * height.input + y) * width.input * channels : padding_.data();
      for (int64_t v = 0; v < width.filter; ++v) {
        const int64_t x = left + v * width.dilation;
        *taps++ = x >= 0 && x < width.input ? from + x * channels : padding_.data();
      }
    }
  }

  const ConvSite conv_;
  AlignedBuffer<T> padding_;  // a line
  // Positions in the line whose taps are all inside of it.
  int64_t innerBegin_ = 0;
  int64_t innerEnd_ = 0;
};

// Spreads the lines over the threads.
template <typename F>
void forEachLine(const ConvSite& conv, size_t taps, ops::KernelServices& services, F f) {
  const size_t lines = conv.output.batch * conv.output.height;
  const size_t work = conv.output.width * conv.output.channels * taps;
  services.parallelFor(lines, grainOf(lines, work, kRangeWork, kThreadWork),
                       [&](size_t begin, size_t end) {
                         for (size_t line = begin; line < end; ++line) f(line);
                       });
}

class FloatDepthwiseKernel final : public Kernel {
 public:
  FloatDepthwiseKernel(const KernelSite& site, const ConvSite& conv)
      : conv_(conv), walker_(conv, 0.0f), compute_(floatDepthwise(site.level)) {
    const size_t channels = conv.output.channels;
    // With more channels than half a vector, neighbours that share their loads are faster.
    const size_t wide = 2 * channels <= kFloatLanes ? wideChannels(conv, kFloatLanes) : 0;
    plain_ = pack(site, channels, channels);
    if (wide > 0) wide_ = pack(site, channels, wide);
    site.release(1);
  }

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const image = operands.input<float>(0);
    auto* const output = operands.output<float>(0);
    const ops::ClampRange<float> range = ops::activationRange(conv_.activation);
    forEachLine(conv_, walker_.tapCount(), services, [&](size_t line) {
      FloatDepthwiseRow row = {.taps = nullptr,
                               .tapCount = walker_.tapCount(),
                               .step = walker_.step(),
                               .column = walker_.column(),
                               .isGrid3x3 = false,
                               .weights = nullptr,
                               .weightStride = 0,
                               .bias = nullptr,
                               .low = range.min,
                               .high = range.max,
                               .channels = 0,
                               .count = 0,
                               .out = nullptr};
      walker_.walk(image, line, wide_.channels,
                   [&](const float* const* taps, size_t position, size_t count, size_t channels,
                       bool isInside) {
                     const Layout& layout = channels == wide_.channels ? wide_ : plain_;
                     row.taps = taps;
                     row.step = channels == wide_.channels ? channels : walker_.step();
                     row.isGrid3x3 = isInside && walker_.isGrid3x3();
                     row.weights = layout.weights.data();
                     row.weightStride = paddedChannels(channels);
                     row.bias = layout.bias.data();
                     row.channels = channels;
                     row.count = count;
                     row.out =
                         output + (line * conv_.output.width + position) * conv_.output.channels;
                     compute_(row);
                   });
    });
    return okStatus();
  }

 private:
  static constexpr size_t kFloatLanes = 16;  // of the widest vectors

  struct Layout {
    size_t channels = 0;
    Packed<float> weights;
    AlignedBuffer<float> bias;
  };

  // As if there were `wide` channels, a multiple of the real number.
  Layout pack(const KernelSite& site, size_t channels, size_t wide) const {
    const size_t taps = walker_.tapCount();
    const size_t stride = paddedChannels(wide);
    Layout layout = {wide, {}, AlignedBuffer<float>(stride)};
    layout.weights = site.pack<float>(taps * stride, [&](float* to) {
      const auto* const filter = site.inputs[1].as<float>();
      for (size_t first = 0; first < wide; first += channels) {
        for (size_t t = 0; t < taps; ++t) {
          std::copy_n(filter + t * channels, channels, to + t * stride + first);
        }
      }
    });
    for (size_t first = 0; first < wide; first += channels) {
      std::copy_n(site.inputs[2].as<float>(), channels, layout.bias.data() + first);
    }
    return layout;
  }

  const ConvSite conv_;
  const LineWalker<float> walker_;
  const FloatDepthwise compute_;
  Layout plain_;
  Layout wide_;  // without channels where there is no use for it
};

}  // namespace

std::unique_ptr<Kernel> makePlainDepthwise(const KernelSite& site, const ConvSite& conv) {
  if (site.inputs[0].type != OperandType::TENSOR_FLOAT32) return makeQuant8Depthwise(site, conv);
  const auto taps = static_cast<size_t>(conv.window.height.filter * conv.window.width.filter);
  if (taps > kMostTaps) return nullptr;
  if (suitsSlices(conv)) return makeSliceDepthwise(site, conv);
  return std::make_unique<FloatDepthwiseKernel>(site, conv);
}

std::unique_ptr<Kernel> makeDepthwiseConv(const KernelSite& site) {
  if (!site.fused.between.empty()) return makeConvChain(site);
  if (!hasConstantWeights(site)) return nullptr;
  const auto conv = readConvSite(site, /*isDepthwise=*/true);
  if (!conv) return nullptr;
  return conv->multiplier == 1 ? makePlainDepthwise(site, *conv)
                               : makeMultipliedDepthwise(site, *conv);
}

}  // namespace halyard::cpudriver

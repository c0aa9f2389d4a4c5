// A thread takes as many lines of the output at a time as their depthwise results stay in its
// cache.
#include "kernels/separable_conv.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "kernels/aligned_buffer.h"
#include "kernels/conv_site.h"
#include "kernels/depthwise_slices.h"
#include "kernels/even_pieces.h"
#include "kernels/matrix_layer.h"
#include "kernels/patch_rows.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kChannelsAtATime = 64;
constexpr size_t kLeastRows = 48;    // for which a panel of weights is worth being fetched
constexpr size_t kWantedItems = 32;  // for the threads to share
constexpr size_t kApart = 64;        // bytes more between rows that would lie at the same places
// Of weights that each thread reads, though it has few rows for them.
constexpr size_t kMostWeightsForFewRows = size_t{2} << 20;

class SeparableKernel final : public Kernel {
 public:
  SeparableKernel(const KernelSite& first, const ConvSite& conv, const KernelSite& second,
                  const ConvSite& points)
      : depthwise_(first, conv),
        layer_(makeMatrixLayer(second, points.output.channels, points.activation)),
        addsInput_(second.fused.addsInput) {
    constexpr size_t kAliasing = 1024;
    const size_t bytes = layer_->depthBytes();
    stride_ = bytes % kAliasing == 0 ? bytes + kApart : bytes;
    const size_t lines = conv.output.batch * conv.output.height;
    const size_t least = divideUp(kLeastRows, conv.output.width);
    const size_t wanted = divideUp(lines, std::max(lines / kWantedItems, least));
    // Halves and quarters of the lines should be whole items.
    items_ = std::min(divideUp(wanted, 4) * 4, lines);
    tileLines_ = std::max<size_t>(cachedTileBytes() / (conv.output.width * stride_), 1);
  }

  bool readsConstants() const override { return false; }
  bool knowsOrder() const override { return true; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const images = operands.input<float>(0);
    const auto* const addend = addsInput_ ? operands.lastInput<std::byte>() : nullptr;
    auto* const output = operands.output<std::byte>(0);
    const ops::ImageDims& between = depthwise_.conv().output;
    const size_t lines = between.batch * between.height;
    const auto range = [&](size_t begin, size_t end) {
      const size_t firstLine = lines * begin / items_;
      forEvenPieces(lines * end / items_ - firstLine, tileLines_, [&](size_t from, size_t count) {
        runLines(images, addend, firstLine + from, count, operands.inOrder, output);
      });
    };
    services.parallelFor(items_, layer_->grain(items_, lines * between.width), std::cref(range));
    return okStatus();
  }

 private:
  // Lines of the output, through all images.
  void runLines(const float* images, const std::byte* addend, size_t line, size_t count,
                bool inOrder, std::byte* output) const {
    const ops::ImageDims& between = depthwise_.conv().output;
    const size_t step = stride_ / sizeof(float);
    auto* const buffer = reinterpret_cast<float*>(threadBuffer(count * between.width * stride_));
    const size_t channelsAtATime = inOrder ? between.channels : kChannelsAtATime;
    for (size_t channel = 0; channel < between.channels; channel += channelsAtATime) {
      const size_t channels = std::min(channelsAtATime, between.channels - channel);
      for (size_t done = 0; done < count;) {
        const size_t image = (line + done) / between.height;
        const size_t begin = (line + done) % between.height;
        const size_t some = std::min(count - done, between.height - begin);
        float* const to = buffer + done * between.width * step;
        if (inOrder) {
          depthwise_.computeInOrder(images, image, begin, begin + some, to, step);
        } else {
          depthwise_.compute(images, image, channel, channels, begin, begin + some, to, step);
        }
        done += some;
      }
    }
    const ptrdiff_t whole = 0;
    const size_t first = line * between.width;
    forEvenPieces(count * between.width, MatrixLayer::kMostRows, [&](size_t from, size_t rows) {
      const size_t at = (first + from) * layer_->outputRowBytes();
      const auto* const left = reinterpret_cast<const std::byte*>(buffer) + from * stride_;
      layer_->multiplyPieces(
          {left, stride_, rows, {&whole, 1}, addend == nullptr ? nullptr : addend + at}, 0,
          layer_->panels(), output + at);
    });
  }

  const SliceDepthwise depthwise_;
  const std::unique_ptr<const MatrixLayer> layer_;
  const bool addsInput_;
  size_t stride_ = 0;  // bytes from a position to the next, between the two
  size_t items_ = 0;
  size_t tileLines_ = 0;
};

// Whether a line stays in the cache, and the weights are not too many for threads that all read
// them.
bool suitsTogether(const ConvSite& conv, const ConvSite& points) {
  const size_t line = conv.output.width * (conv.output.channels * sizeof(float) + kApart);
  const size_t rows = conv.output.batch * conv.output.height * conv.output.width;
  const size_t weights = conv.output.channels * points.output.channels * sizeof(float);
  return line <= cachedTileBytes() && (rows >= 2 * kLeastRows || weights <= kMostWeightsForFewRows);
}

}  // namespace

std::unique_ptr<Kernel> makeSeparableConv(const KernelSite& site) {
  const Fused& fused = site.fused;
  std::vector<ops::Tensor> behind = {*fused.between};
  const auto others = site.inputs.subspan(fused.ownInputs);
  behind.insert(behind.end(), others.begin(), others.end());
  KernelSite first = site;
  first.inputs = site.inputs.first(fused.ownInputs);
  first.outputs = {fused.between, 1};
  first.fused = {};
  first.fused.padding = fused.padding;
  KernelSite second = site;
  second.inputs = behind;
  second.fused.between = nullptr;
  second.fused.padding = {};
  if (!hasConstantWeights(first) || !hasConstantWeights(second) || !takesAddend(second)) {
    return nullptr;
  }
  const auto conv = readConvSite(first, /*isDepthwise=*/true);
  const auto points = readConvSite(second, /*isDepthwise=*/false);
  if (!conv || conv->multiplier != 1 || !suitsSlices(*conv) || !points || !isPointwise(*points) ||
      !suitsTogether(*conv, *points)) {
    return nullptr;
  }
  return std::make_unique<SeparableKernel>(first, *conv, second, *points);
}

}  // namespace halyard::cpudriver

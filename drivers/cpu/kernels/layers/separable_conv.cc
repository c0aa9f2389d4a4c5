// A thread takes as many lines of the output at a time as their depthwise results stay in its
// cache.
#include "kernels/layers/separable_conv.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/layers/conv_site.h"
#include "kernels/layers/depthwise_quant8.h"
#include "kernels/layers/depthwise_slices.h"
#include "kernels/layers/patch_rows.h"
#include "kernels/matrix/matrix_layer.h"
#include "kernels/processor_cache.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kApart = 64;  // bytes more between rows that would lie at the same places
// Of weights that each thread reads, though it has few rows for them.
constexpr size_t kMostWeightsForFewRows = size_t{2} << 20;

class SeparableKernel final : public Kernel {
 public:
  SeparableKernel(const ConvSite& conv, std::unique_ptr<const DepthwiseLines> depthwise,
                  std::unique_ptr<const MatrixLayer> layer, bool addsInput)
      : depthwise_(std::move(depthwise)),
        layer_(std::move(layer)),
        addsInput_(addsInput),
        lines_(conv.output.batch * conv.output.height),
        width_(conv.output.width),
        stride_(strideOf(conv, layer_->elementBytes())) {
    const size_t least = divideUp(MatrixLayer::kLeastRows, width_);
    const size_t wanted = divideUp(lines_, std::max(lines_ / MatrixLayer::kWantedItems, least));
    // Halves and quarters of the lines should be whole items.
    items_ = std::min(divideUp(wanted, 4) * 4, lines_);
    tileLines_ = std::max<size_t>(cachedTileBytes() / (width_ * stride_), 1);
  }

  // Bytes from a position to the next, between the two.
  static size_t strideOf(const ConvSite& conv, size_t elementBytes) {
    constexpr size_t kAliasing = 1024;
    const size_t bytes = conv.output.channels * elementBytes;
    return elementBytes > 1 && bytes % kAliasing == 0 ? bytes + kApart : bytes;
  }

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const images = operands.input<std::byte>(0);
    const auto* const addend = addsInput_ ? operands.lastInput<std::byte>() : nullptr;
    auto* const output = operands.output<std::byte>(0);
    const auto range = [&](size_t begin, size_t end) {
      const size_t line = lines_ * begin / items_;
      forEvenPieces(lines_ * end / items_ - line, tileLines_, [&](size_t from, size_t count) {
        runLines(images, addend, line + from, count, output);
      });
    };
    services.parallelFor(items_, layer_->grain(items_, lines_ * width_), std::cref(range));
    return okStatus();
  }

 private:
  // Lines of the output, through all images.
  void runLines(const std::byte* images, const std::byte* addend, size_t line, size_t count,
                std::byte* output) const {
    // The depthwise convolution has need of the thread's other buffer.
    auto& buffer = threadOwned<AlignedBuffer<std::byte>, struct LineBuffer>();
    const size_t bytes = count * width_ * stride_;
    if (buffer.size() < bytes) buffer = AlignedBuffer<std::byte>(bytes);
    depthwise_->compute(images, line, count, buffer.data(), stride_);
    const ptrdiff_t whole = 0;
    forEvenPieces(count * width_, MatrixLayer::kMostRows, [&](size_t from, size_t rows) {
      const size_t at = (line * width_ + from) * layer_->outputRowBytes();
      layer_->multiplyPieces({buffer.data() + from * stride_,
                              stride_,
                              rows,
                              {&whole, 1},
                              addend == nullptr ? nullptr : addend + at},
                             0, layer_->panels(), output + at);
    });
  }

  const std::unique_ptr<const DepthwiseLines> depthwise_;
  const std::unique_ptr<const MatrixLayer> layer_;
  const bool addsInput_;
  const size_t lines_;  // of all images
  const size_t width_;
  const size_t stride_;
  size_t items_ = 0;
  size_t tileLines_ = 0;
};

// Whether a line stays in the cache, and the weights are not too many for threads that all read
// them.
bool suitsTogether(const ConvSite& conv, const ConvSite& points, size_t elementBytes) {
  const size_t line = conv.output.width * SeparableKernel::strideOf(conv, elementBytes);
  const size_t rows = conv.output.batch * conv.output.height * conv.output.width;
  const size_t weights = conv.output.channels * points.output.channels * elementBytes;
  return line <= cachedTileBytes() &&
         (rows >= 2 * MatrixLayer::kLeastRows || weights <= kMostWeightsForFewRows);
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
  const size_t elementBytes = elementSize(fused.between->type);
  if (!conv || conv->multiplier != 1 || !points || !isPointwise(*points) ||
      !suitsTogether(*conv, *points, elementBytes)) {
    return nullptr;
  }
  const bool areBytes = elementBytes == 1;
  // Rows of bytes are multiplied four at a time, and lie side by side here.
  if (areBytes ? conv->output.channels % 4 != 0 : !suitsSlices(*conv)) return nullptr;
  std::unique_ptr<MatrixLayer> layer =
      makeMatrixLayer(second, points->output.channels, points->activation);
  if (layer == nullptr) return nullptr;
  std::unique_ptr<DepthwiseLines> depthwise =
      areBytes ? makeQuant8DepthwiseLines(first, *conv) : makeSliceLines(first, *conv);
  if (depthwise == nullptr) return nullptr;
  return std::make_unique<SeparableKernel>(*conv, std::move(depthwise), std::move(layer),
                                           fused.addsInput);
}

}  // namespace halyard::cpudriver

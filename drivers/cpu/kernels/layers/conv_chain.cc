// A thread computes so many lines of the output at a time that their depthwise results stay in its
// cache. So do the lines of the image that the chain computes in front. Neighbouring pieces compute
// the lines that both need twice.
#include "kernels/layers/conv_chain.h"

#include <algorithm>
#include <cstdint>
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
// The least number of lines of the image in front for each line that is computed twice.
constexpr int64_t kLeastOncePerTwice = 4;

// Bytes from a position of the depthwise results to the next.
size_t strideOf(const ConvSite& conv, size_t elementBytes) {
  constexpr size_t kAliasing = 1024;
  const size_t bytes = conv.output.channels * elementBytes;
  return elementBytes > 1 && bytes % kAliasing == 0 ? bytes + kApart : bytes;
}

size_t lineBytesOf(const ops::ImageDims& image, size_t elementBytes) {
  return image.width * image.channels * elementBytes;
}

size_t linesOf(const ops::ImageDims& images) { return images.batch * images.height; }

// The lines of an input that lines [line, line + count) of one image's output need; perhaps none.
struct LineRange {
  size_t begin;
  size_t end;
};
LineRange inputLines(const ops::WindowAxis& height, size_t line, size_t count) {
  const int64_t begin = height.origin(static_cast<int64_t>(line));
  const int64_t end = height.origin(static_cast<int64_t>(line + count - 1)) +
                      (height.filter - 1) * height.dilation + 1;
  const int64_t first = std::clamp<int64_t>(begin, 0, height.input);
  return {static_cast<size_t>(first),
          static_cast<size_t>(std::clamp<int64_t>(end, first, height.input))};
}

// Multiplies `count` cells that are `stride` bytes apart. `addend`: of these cells; may be null.
void multiplyCells(const MatrixLayer& layer, const std::byte* cells, size_t stride, size_t count,
                   const std::byte* addend, std::byte* out) {
  const ptrdiff_t whole = 0;
  forEvenPieces(count, MatrixLayer::kMostRows, [&](size_t from, size_t rows) {
    const size_t at = from * layer.outputRowBytes();
    layer.multiplyPieces({cells + from * stride,
                          stride,
                          rows,
                          {&whole, 1},
                          addend == nullptr ? nullptr : addend + at},
                         0, layer.panels(), out + at);
  });
}

// A convolution by points, some lines at a time.
class PointLines {
 public:
  PointLines(const ConvSite& points, std::unique_ptr<const MatrixLayer> layer)
      : layer_(std::move(layer)),
        width_(points.output.width),
        stride_(points.input.channels * layer_->elementBytes()) {}

  // Lines [line, line + count), through all images, to `out`.
  void compute(const std::byte* images, size_t line, size_t count, std::byte* out) const {
    multiplyCells(*layer_, images + line * width_ * stride_, stride_, count * width_, nullptr, out);
  }

 private:
  const std::unique_ptr<const MatrixLayer> layer_;
  const size_t width_;
  const size_t stride_;
};

// A depthwise convolution and the one by points behind it. `front`: null, or the convolution that
// makes their image.
class SeparableLines {
  using Buffer = AlignedBuffer<std::byte>;

 public:
  SeparableLines(const ConvSite& conv, std::unique_ptr<const DepthwiseLines> depthwise,
                 std::unique_ptr<const MatrixLayer> layer, std::unique_ptr<const PointLines> front)
      : conv_(conv),
        depthwise_(std::move(depthwise)),
        layer_(std::move(layer)),
        front_(std::move(front)),
        stride_(strideOf(conv, layer_->elementBytes())),
        frontBytes_(lineBytesOf(conv.input, layer_->elementBytes())),
        tileLines_(tileLines(conv, layer_->elementBytes(), front_ != nullptr)) {}

  // Lines of the output at a time.
  static size_t tileLines(const ConvSite& conv, size_t elementBytes, bool hasFront) {
    size_t lineBytes = conv.output.width * strideOf(conv, elementBytes);
    if (hasFront) {
      lineBytes +=
          lineBytesOf(conv.input, elementBytes) * static_cast<size_t>(conv.window.height.stride);
    }
    return std::max<size_t>(cachedTileBytes() / std::max<size_t>(lineBytes, 1), 1);
  }

  const MatrixLayer& layer() const { return *layer_; }
  bool hasFront() const { return front_ != nullptr; }
  size_t tileLines() const { return tileLines_; }

  // Lines [line, line + count) of the output, through all images, to `out`. `addend` begins with
  // the same line; may be null.
  void compute(const std::byte* images, const std::byte* addend, size_t line, size_t count,
               std::byte* out) const {
    const size_t width = conv_.output.width;
    const size_t outBytes = width * layer_->outputRowBytes();
    // The depthwise convolution has need of the thread's other buffer.
    auto& buffer = threadOwned<Buffer, struct LineBuffer>();
    forEvenPieces(count, tileLines_, [&](size_t from, size_t lines) {
      const std::byte* const cells = convolve(images, line + from, lines, &buffer);
      multiplyCells(*layer_, cells, stride_, lines * width,
                    addend == nullptr ? nullptr : addend + from * outBytes, out + from * outBytes);
    });
  }

 private:
  static std::byte* atLeast(size_t bytes, Buffer* buffer) {
    if (buffer->size() < bytes) *buffer = Buffer(bytes);
    return buffer->data();
  }

  // Returns the depthwise results of these lines, in `buffer`.
  const std::byte* convolve(const std::byte* images, size_t line, size_t count,
                            Buffer* buffer) const {
    const size_t lineBytes = conv_.output.width * stride_;
    std::byte* const to = atLeast(count * lineBytes, buffer);
    if (front_ == nullptr) {
      depthwise_->compute(images, line, count, to, stride_);
      return to;
    }
    auto& front = threadOwned<Buffer, struct FrontBuffer>();
    // Some lines may be another image's.
    for (size_t done = 0; done < count;) {
      const size_t image = (line + done) / conv_.output.height;
      const size_t first = (line + done) % conv_.output.height;
      const size_t some = std::min(count - done, conv_.output.height - first);
      const LineRange needed = inputLines(conv_.window.height, first, some);
      const size_t begin = image * conv_.input.height + needed.begin;
      std::byte* const lines = atLeast((needed.end - needed.begin) * frontBytes_, &front);
      front_->compute(images, begin, needed.end - needed.begin, lines);
      // As if all lines in front were there: only the needed ones are read.
      const auto all = reinterpret_cast<uintptr_t>(lines) - begin * frontBytes_;
      depthwise_->compute(reinterpret_cast<const std::byte*>(all), line + done, some,
                          to + done * lineBytes, stride_);
      done += some;
    }
    return to;
  }

  const ConvSite conv_;  // the depthwise one
  const std::unique_ptr<const DepthwiseLines> depthwise_;
  const std::unique_ptr<const MatrixLayer> layer_;
  const std::unique_ptr<const PointLines> front_;
  const size_t stride_;
  const size_t frontBytes_;  // of a line
  const size_t tileLines_;
};

class ConvChainKernel final : public Kernel {
 public:
  ConvChainKernel(const ops::ImageDims& output, std::unique_ptr<const SeparableLines> convs,
                  bool addsInput)
      : convs_(std::move(convs)),
        addsInput_(addsInput),
        lines_(linesOf(output)),
        width_(output.width) {
    const size_t least = divideUp(MatrixLayer::kLeastRows, width_);
    const size_t wanted =
        convs_->hasFront() ? divideUp(lines_, convs_->tileLines())
                           : divideUp(lines_, std::max(lines_ / MatrixLayer::kWantedItems, least));
    // Halves and quarters of the lines should be whole items.
    items_ = std::min(divideUp(wanted, 4) * 4, lines_);
  }

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const images = operands.input<std::byte>(0);
    const auto* const addend = addsInput_ ? operands.lastInput<std::byte>() : nullptr;
    auto* const output = operands.output<std::byte>(0);
    const size_t lineBytes = width_ * convs_->layer().outputRowBytes();
    const auto range = [&](size_t begin, size_t end) {
      const size_t line = lines_ * begin / items_;
      const size_t at = line * lineBytes;
      convs_->compute(images, addend == nullptr ? nullptr : addend + at, line,
                      lines_ * end / items_ - line, output + at);
    };
    services.parallelFor(items_, convs_->layer().grain(items_, lines_ * width_), std::cref(range));
    return okStatus();
  }

 private:
  const std::unique_ptr<const SeparableLines> convs_;
  const bool addsInput_;
  const size_t lines_;  // of all images
  const size_t width_;
  size_t items_ = 0;
};

// One of the convolutions of a chain, as its maker sees it alone.
struct Link {
  std::vector<ops::Tensor> inputs;
  KernelSite site;
  ConvSite conv;
};

// Empty if one of them is none that the driver has kernels for. The last but one is depthwise, and
// the others are by points.
std::vector<Link> linksOf(const KernelSite& site) {
  const std::vector<Fused::Between>& between = site.fused.between;
  std::vector<Link> links(between.size() + 1);
  size_t begin = 0;
  for (size_t i = 0; i < links.size(); ++i) {
    Link& link = links[i];
    const bool isLast = i == between.size();
    const size_t end = isLast ? site.inputs.size() : between[i].inputs;
    const auto own = site.inputs.subspan(begin, end - begin);
    begin = end;
    if (i > 0) link.inputs.push_back(*between[i - 1].result);
    link.inputs.insert(link.inputs.end(), own.begin(), own.end());
    link.site = site;
    link.site.inputs = link.inputs;
    link.site.fused = isLast ? site.fused : Fused();
    link.site.fused.between.clear();
    link.site.fused.padding = {};
    if (i == 0) link.site.fused.padding = site.fused.padding;
    if (!isLast) link.site.outputs = {between[i].result, 1};
    const bool isDepthwise = i + 1 == between.size();
    if (!hasConstantWeights(link.site) || !takesAddend(link.site)) return {};
    const auto conv = readConvSite(link.site, isDepthwise);
    if (!conv || (isDepthwise ? conv->multiplier != 1 : !isPointwise(*conv))) return {};
    link.conv = *conv;
  }
  return links;
}

// Whether a line stays in the cache, and the weights are not too many for threads that all read
// them.
bool suitsTogether(const ConvSite& conv, const ConvSite& points, size_t elementBytes) {
  const size_t line = conv.output.width * strideOf(conv, elementBytes);
  const size_t rows = linesOf(conv.output) * conv.output.width;
  const size_t weights = conv.output.channels * points.output.channels * elementBytes;
  if (line > cachedTileBytes() ||
      (rows < 2 * MatrixLayer::kLeastRows && weights > kMostWeightsForFewRows)) {
    return false;
  }
  // Rows of bytes are multiplied four at a time, and lie side by side here.
  return elementBytes == 1 ? conv.output.channels % 4 == 0 : suitsSlices(conv);
}

// Whether the image in front of depthwise convolution `conv` is too large for the cache, and few of
// its lines are computed twice.
bool suitsFront(const ConvSite& conv, size_t elementBytes) {
  const ops::WindowAxis& height = conv.window.height;
  const int64_t twice = (height.filter - 1) * height.dilation + 1 - height.stride;
  const auto once =
      static_cast<int64_t>(SeparableLines::tileLines(conv, elementBytes, true)) * height.stride;
  return linesOf(conv.input) * lineBytesOf(conv.input, elementBytes) > cachedTileBytes() &&
         twice * kLeastOncePerTwice <= once;
}

}  // namespace

std::unique_ptr<Kernel> makeConvChain(const KernelSite& site) {
  const std::vector<Link> links = linksOf(site);
  if (links.empty()) return nullptr;
  const Link& points = links.back();
  const Link& depthwise = links[links.size() - 2];
  const Link* const front = links.size() > 2 ? &links.front() : nullptr;
  const size_t elementBytes = elementSize(site.inputs[0].type);
  if (!suitsTogether(depthwise.conv, points.conv, elementBytes) ||
      (front != nullptr && !suitsFront(depthwise.conv, elementBytes))) {
    return nullptr;
  }
  const auto layerOf = [](const Link& link) {
    return makeMatrixLayer(link.site, link.conv.output.channels, link.conv.activation);
  };
  std::unique_ptr<const PointLines> frontLines;
  if (front != nullptr) {
    auto layer = layerOf(*front);
    if (layer == nullptr) return nullptr;
    frontLines = std::make_unique<PointLines>(front->conv, std::move(layer));
  }
  auto layer = layerOf(points);
  if (layer == nullptr) return nullptr;
  auto depthwiseLines = elementBytes == 1 ? makeQuant8DepthwiseLines(depthwise.site, depthwise.conv)
                                          : makeSliceLines(depthwise.site, depthwise.conv);
  if (depthwiseLines == nullptr) return nullptr;
  return std::make_unique<ConvChainKernel>(
      points.conv.output,
      std::make_unique<SeparableLines>(depthwise.conv, std::move(depthwiseLines), std::move(layer),
                                       std::move(frontLines)),
      site.fused.addsInput);
}

}  // namespace halyard::cpudriver

// Channels side by side in an image are far apart from line to line and, with many channels, from
// cell to cell: in places that compete for the same few sets of the cache.
#include "kernels/depthwise_strips.h"

#include <algorithm>
#include <cstring>

#include "kernels/aligned_buffer.h"
#include "kernels/depthwise_rows.h"
#include "kernels/even_pieces.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kLanes = 16;          // of the widest vectors
constexpr size_t kMostCell = 64;       // channels of a strip
constexpr size_t kStripBytes = 65536;  // of a strip's copied lines
constexpr size_t kWantedLines = 8;  // of the output, for which lines of the input are copied once
// Products that are worth a range, and a second thread.
constexpr size_t kRangeWork = 1 << 15;
constexpr size_t kThreadWork = 1 << 16;

// Copied cells of a line.
size_t cellsOfLine(const ops::WindowAxis& width) {
  return static_cast<size_t>((width.output - 1) * width.stride + 2 * width.dilation + 1);
}

class StripDepthwiseKernel final : public Kernel {
 public:
  StripDepthwiseKernel(const KernelSite& site, const ConvSite& conv)
      : conv_(conv), strips_(floatStrips(site.level)), cells_(cellsOfLine(conv.window.width)) {
    const size_t channels = conv.output.channels;
    weightStride_ = (channels + kLanes - 1) / kLanes * kLanes;
    weights_ = site.pack<float>(9 * weightStride_, [&](float* to) {
      const auto* const filter = site.inputs[1].as<float>();
      for (size_t t = 0; t < 9; ++t) {
        std::copy_n(filter + t * channels, channels, to + t * weightStride_);
      }
    });
    site.release(1);
    bias_ = AlignedBuffer<float>(weightStride_);
    std::copy_n(site.inputs[2].as<float>(), channels, bias_.data());
    chooseStrips();
  }

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const images = operands.input<float>(0);
    auto* const output = operands.output<float>(0);
    const size_t height = conv_.output.height;
    const size_t pieces = (height + linesAtATime_ - 1) / linesAtATime_;
    const size_t strips = (conv_.output.channels + cell_ - 1) / cell_;
    const size_t work = linesAtATime_ * conv_.output.width * cell_ * 9;
    const size_t items = conv_.output.batch * pieces * strips;
    services.parallelFor(
        items, grainOf(items, work, kRangeWork, kThreadWork), [&](size_t begin, size_t end) {
          float* const buffer = reinterpret_cast<float*>(threadBuffer(bufferBytes()));
          for (size_t item = begin; item < end; ++item) {
            const size_t piece = item / strips % pieces;
            runStrip(images, item / strips / pieces, item % strips * cell_, height * piece / pieces,
                     height * (piece + 1) / pieces, buffer, output);
          }
        });
    return okStatus();
  }

 private:
  // Lines of the input for `lines` of the output.
  size_t inputLines(size_t lines) const {
    const ops::WindowAxis& height = conv_.window.height;
    return (lines - 1) * static_cast<size_t>(height.stride) +
           2 * static_cast<size_t>(height.dilation) + 1;
  }
  size_t bufferBytes() const { return inputLines(linesAtATime_) * cells_ * cell_ * sizeof(float); }

  // Wide strips are copied faster, but must leave room for enough lines.
  void chooseStrips() {
    const size_t height = conv_.output.height;
    const size_t wanted = inputLines(std::min(height, kWantedLines));
    cell_ = std::min(kMostCell, weightStride_);
    while (cell_ > kLanes && wanted * cells_ * cell_ * sizeof(float) > kStripBytes) {
      cell_ = std::max(cell_ / 2 / kLanes * kLanes, kLanes);
    }
    const size_t lines = kStripBytes / (cells_ * cell_ * sizeof(float));
    const size_t extent = inputLines(1);
    linesAtATime_ = lines <= extent
                        ? 1
                        : (lines - extent) / static_cast<size_t>(conv_.window.height.stride) + 1;
    linesAtATime_ = std::min(linesAtATime_, height);
  }

  // Channels from `channel` on of lines [begin, end) of the output of one image.
  void runStrip(const float* images, size_t image, size_t channel, size_t begin, size_t end,
                float* buffer, float* output) const {
    const size_t channels = conv_.output.channels;
    const size_t taken = std::min(cell_, channels - channel);
    copyStrip(images + image * conv_.input.height * conv_.input.width * channels + channel, taken,
              conv_.window.height.origin(static_cast<int64_t>(begin)), inputLines(end - begin),
              buffer);
    const ops::ClampRange<float> range = ops::activationRange(conv_.activation);
    strips_.compute({.strip = buffer,
                     .line = static_cast<size_t>(conv_.window.height.dilation) * cells_ * cell_,
                     .column = static_cast<size_t>(conv_.window.width.dilation) * cell_,
                     .step = static_cast<size_t>(conv_.window.width.stride) * cell_,
                     .weights = weights_.data() + channel,
                     .weightStride = weightStride_,
                     .bias = bias_.data() + channel,
                     .low = range.min,
                     .high = range.max,
                     .channels = taken,
                     .count = conv_.output.width,
                     .out = output +
                            (image * conv_.output.height + begin) * conv_.output.width * channels +
                            channel,
                     .outStep = channels,
                     .lines = end - begin,
                     .lineStep = static_cast<size_t>(conv_.window.height.stride) * cells_ * cell_,
                     .outLine = conv_.output.width * channels});
  }

  // `lines` lines of the input from line `top` on, of which `image` is the first cell's part.
  void copyStrip(const float* image, size_t taken, int64_t top, size_t lines, float* to) const {
    const ops::WindowAxis& width = conv_.window.width;
    const size_t channels = conv_.output.channels;
    const auto before = std::min(static_cast<size_t>(width.padBefore), cells_);
    const size_t inside = std::min(static_cast<size_t>(width.input), cells_ - before);
    const size_t after = cells_ - before - inside;
    for (size_t i = 0; i < lines; ++i, to += cells_ * cell_) {
      const int64_t y = top + static_cast<int64_t>(i);
      if (y < 0 || y >= conv_.window.height.input) {
        std::fill_n(to, cells_ * cell_, 0.0f);
        continue;
      }
      std::fill_n(to, before * cell_, 0.0f);
      strips_.copyCells(image + static_cast<size_t>(y) * conv_.input.width * channels, channels,
                        inside, taken, to + before * cell_, cell_);
      std::fill_n(to + (before + inside) * cell_, after * cell_, 0.0f);
    }
  }

  const ConvSite conv_;
  const FloatStrips& strips_;
  const size_t cells_;  // of a copied line
  size_t weightStride_ = 0;
  Packed<float> weights_;
  AlignedBuffer<float> bias_;
  size_t cell_ = 0;  // elements
  size_t linesAtATime_ = 1;
};

}  // namespace

bool takesStrips(const ConvSite& conv) {
  const ops::WindowAxis& height = conv.window.height;
  const ops::WindowAxis& width = conv.window.width;
  if (height.filter != 3 || width.filter != 3 || conv.input.channels < kLanes) return false;
  constexpr auto kMostCells = static_cast<int64_t>(kStripBytes / kLanes / sizeof(float));
  return (width.output - 1) * width.stride <= kMostCells && width.dilation <= kMostCells &&
         height.dilation <= kMostCells &&
         cellsOfLine(width) * static_cast<size_t>(2 * height.dilation + 1) <=
             static_cast<size_t>(kMostCells);
}

bool suitsStrips(const ConvSite& conv) {
  // With longer steps there is more to copy than to compute.
  if (conv.window.height.stride > 1 || conv.window.width.stride > 1) return false;
  // An image that is not in the second-level cache is waited for in any case, and copies take
  // longer: unless the taps, which are cells apart, compete for places there, too.
  constexpr size_t kMostElements = size_t{1} << 17;
  constexpr size_t kManyChannels = 256;
  if (conv.input.height * conv.input.width * conv.input.channels > kMostElements &&
      conv.input.channels < kManyChannels) {
    return false;
  }
  return takesStrips(conv);
}

std::unique_ptr<Kernel> makeStripDepthwise(const KernelSite& site, const ConvSite& conv) {
  return std::make_unique<StripDepthwiseKernel>(site, conv);
}

}  // namespace halyard::cpudriver

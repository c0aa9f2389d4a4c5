// Positions outside the image are read from zeros. With a dilation, every dilation-th position of a
// line belongs to a line of its own, whose filter is not dilated.
#include "kernels/layers/depthwise_slices.h"

#include <algorithm>
#include <functional>

#include "kernels/layers/depthwise_rows.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kLanes = 16;           // of the widest vectors
constexpr size_t kChannelsOfItem = 64;  // for the threads to share
constexpr size_t kBandLines = 16;       // of the output, in an item
// Products that are worth a range, and a second thread.
constexpr size_t kRangeWork = 1 << 15;
constexpr size_t kThreadWork = 1 << 16;

// Cells that are so far apart compete for the same few places of the first-level cache. So lines of
// the image are not expected to be there for the next line of the output.
size_t bandLines(size_t cellBytes) {
  constexpr size_t kAliasing = 2048;
  return cellBytes % kAliasing == 0 ? 2 : kBandLines;
}

// Bands of lines of the output that are items. Halves of the lines are whole bands, because the
// threads share the layers around in halves. Data that another thread has written is slow to read.
size_t bandsOf(const ConvSite& conv) {
  const size_t bands =
      divideUp(conv.output.height, bandLines(conv.output.channels * sizeof(float)));
  return bands == 1 ? 1 : std::min(divideUp(bands, 2) * 2, conv.output.height);
}

// Weights and bias, rearranged.
class SliceDepthwise final : public DepthwiseLines {
 public:
  SliceDepthwise(const KernelSite& site, const ConvSite& conv);

  const ConvSite& conv() const { return conv_; }
  size_t channelsAtOnce() const { return slices_.channels; }
  // Some channels of lines [begin, end) of the output of one image.
  struct Part {
    size_t image;
    size_t channel;
    size_t channels;
    size_t begin;
    size_t end;
  };
  // `out` is where channel 0 of the first position goes; positions are `step` elements apart.
  void computePart(const float* images, const Part& part, float* out, size_t step) const;
  void compute(const std::byte* images, size_t line, size_t count, std::byte* out,
               size_t stride) const override;

 private:
  const ConvSite conv_;
  const FloatSlices slices_;
  const size_t weightStride_;
  const AlignedBuffer<float> zeros_;
  Packed<float> weights_;
  AlignedBuffer<float> bias_;
};

class SliceDepthwiseKernel final : public Kernel {
 public:
  SliceDepthwiseKernel(const KernelSite& site, const ConvSite& conv)
      : depthwise_(site, conv), bands_(bandsOf(conv)) {}

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const images = operands.input<float>(0);
    auto* const output = operands.output<float>(0);
    const ops::ImageDims& to = depthwise_.conv().output;
    const size_t parts = divideUp(to.channels, kChannelsOfItem);
    const size_t items = to.batch * bands_ * parts;
    const size_t work =
        divideUp(to.height, bands_) * to.width * std::min(to.channels, kChannelsOfItem) * 9;
    const auto computeBand = [&](size_t band, size_t channel, size_t channelEnd) {
      const size_t image = band / bands_;
      const size_t first = to.height * (band % bands_) / bands_;
      const size_t last = to.height * (band % bands_ + 1) / bands_;
      float* const out = output + (image * to.height + first) * to.width * to.channels;
      while (channel < channelEnd) {
        const size_t count = std::min(depthwise_.channelsAtOnce(), channelEnd - channel);
        depthwise_.computePart(images, {image, channel, count, first, last}, out, to.channels);
        channel += count;
      }
    };
    // An item is some channels of a band. Those of a range are computed together.
    const auto range = [&](size_t begin, size_t end) {
      forBlocksOfItems(begin, end, parts,
                       [&](size_t band, size_t bandEnd, size_t part, size_t partEnd) {
                         for (; band < bandEnd; ++band) {
                           computeBand(band, part * kChannelsOfItem,
                                       std::min(partEnd * kChannelsOfItem, to.channels));
                         }
                       });
    };
    services.parallelFor(items, grainOf(items, work, kRangeWork, kThreadWork), std::cref(range));
    return okStatus();
  }

 private:
  const SliceDepthwise depthwise_;
  const size_t bands_;  // of lines
};

SliceDepthwise::SliceDepthwise(const KernelSite& site, const ConvSite& conv)
    : conv_(conv),
      slices_(floatSlices(site.level)),
      weightStride_(divideUp(conv.output.channels, kLanes) * kLanes),
      zeros_(slices_.channels + kLanes),
      bias_(weightStride_) {
  const size_t channels = conv.output.channels;
  weights_ = site.pack<float>(9 * weightStride_, [&](float* to) {
    const auto* const filter = site.inputs[1].as<float>();
    for (size_t t = 0; t < 9; ++t) {
      std::copy_n(filter + t * channels, channels, to + t * weightStride_);
    }
  });
  site.release(1);
  std::copy_n(site.inputs[2].as<float>(), channels, bias_.data());
}

void SliceDepthwise::computePart(const float* images, const Part& part, float* out,
                                 size_t step) const {
  const ops::WindowAxis& height = conv_.window.height;
  const ops::WindowAxis& width = conv_.window.width;
  const size_t cell = conv_.input.channels;
  const size_t line = conv_.input.width * cell;
  const auto dilation = static_cast<size_t>(width.dilation);
  const ops::ClampRange<float> range = ops::activationRange(conv_.activation);
  images += part.image * conv_.input.height * line + part.channel;
  out += part.channel;
  for (size_t first = 0; first < std::min(dilation, conv_.output.width); ++first) {
    const size_t count = divideUp(conv_.output.width - first, dilation);
    const int64_t left = width.origin(static_cast<int64_t>(first));
    const int64_t right =
        width.origin(static_cast<int64_t>(first + (count - 1) * dilation)) + 2 * width.dilation;
    slices_.compute({.middle = images + static_cast<size_t>(left + width.dilation) * cell,
                     .column = dilation * cell,
                     .isStepTwo = width.stride == 2,
                     .hasFirst = left >= 0,
                     .hasLast = right < width.input,
                     .zeros = zeros_.data(),
                     .line = line,
                     .height = height.input,
                     .top = height.origin(static_cast<int64_t>(part.begin)),
                     .dilation = height.dilation,
                     .lineStep = height.stride,
                     .weights = weights_.data() + part.channel,
                     .weightStride = weightStride_,
                     .bias = bias_.data() + part.channel,
                     .low = range.min,
                     .high = range.max,
                     .channels = part.channels,
                     .count = count,
                     .lines = part.end - part.begin,
                     .out = out + first * step,
                     .outStep = dilation * step,
                     .outLine = conv_.output.width * step});
  }
}

void SliceDepthwise::compute(const std::byte* images, size_t line, size_t count, std::byte* out,
                             size_t stride) const {
  const auto* const from = reinterpret_cast<const float*>(images);
  auto* const to = reinterpret_cast<float*>(out);
  const size_t step = stride / sizeof(float);
  const ops::ImageDims& dims = conv_.output;
  for (size_t channel = 0; channel < dims.channels; channel += slices_.channels) {
    const size_t channels = std::min(slices_.channels, dims.channels - channel);
    // Some lines may be another image's.
    for (size_t done = 0; done < count;) {
      const size_t begin = (line + done) % dims.height;
      const size_t some = std::min(count - done, dims.height - begin);
      computePart(from, {(line + done) / dims.height, channel, channels, begin, begin + some},
                  to + done * dims.width * step, step);
      done += some;
    }
  }
}

bool takesSlices(const ConvSite& conv) {
  const ops::WindowAxis& height = conv.window.height;
  const ops::WindowAxis& width = conv.window.width;
  if (height.filter != 3 || width.filter != 3) return false;
  if (width.stride != 1 && (width.stride != 2 || width.dilation != 1)) return false;
  return width.padBefore <= width.dilation &&
         width.origin(width.output - 1) + width.dilation < width.input;
}

}  // namespace

bool suitsSlices(const ConvSite& conv) {
  // Fewer channels would leave most of the vectors empty; line by line, neighbours fill them.
  constexpr size_t kLeastChannels = 8;
  return conv.output.channels >= kLeastChannels && takesSlices(conv);
}

std::unique_ptr<DepthwiseLines> makeSliceLines(const KernelSite& site, const ConvSite& conv) {
  return std::make_unique<SliceDepthwise>(site, conv);
}

std::unique_ptr<Kernel> makeSliceDepthwise(const KernelSite& site, const ConvSite& conv) {
  return std::make_unique<SliceDepthwiseKernel>(site, conv);
}

}  // namespace halyard::cpudriver

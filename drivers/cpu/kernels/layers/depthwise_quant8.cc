// Packing 8 bit depthwise weights, and the loop over the lines of the output.
#include "kernels/layers/depthwise_quant8.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "kernels/layers/quant8_depthwise_lines.h"
#include "kernels/matrix/quant8_weights.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kMostFilterRows = 64;
constexpr size_t kMostTaps = 1024;
constexpr int64_t kMostColumns = 4096;     // that a filter spans: they are in a buffer
constexpr size_t kWorkPerRange = 1 << 16;  // products

// Copies of lines of an image with values of a real 0 before and behind. It holds as many lines as
// a filter has, and keeps them from line to line of the output.
class PaddedLines {
 public:
  struct Shape {
    size_t rows;    // of the filter
    size_t before;  // bytes
    size_t bytes;   // of a line of the image
    size_t stride;  // of a line here
    uint8_t zero;

    size_t totalBytes() const { return (rows + 1) * stride; }
  };

  // `memory`: totalBytes.
  PaddedLines(const Shape& shape, uint8_t* memory) : shape_(shape), memory_(memory) {
    kept_.fill(nullptr);
    std::memset(memory, shape.zero, shape.totalBytes());
  }

  // Line `from` of an image, or a line of zeros where it is null. `slot` is below `rows`; its
  // former contents are lost.
  const uint8_t* line(const uint8_t* from, size_t slot) {
    if (from == nullptr) return memory_ + shape_.rows * shape_.stride;
    uint8_t* const to = memory_ + slot * shape_.stride;
    if (kept_[slot] != from) std::memcpy(to + shape_.before, from, shape_.bytes);
    kept_[slot] = from;
    return to;
  }

 private:
  const Shape shape_;
  uint8_t* const memory_;
  std::array<const uint8_t*, kMostFilterRows> kept_;
};

class Quant8DepthwiseLines final : public DepthwiseLines {
 public:
  Quant8DepthwiseLines(const KernelSite& site, const ConvSite& conv, const Quant8Weights& weights,
                       const Quant8Depthwise& depthwise)
      : conv_(conv),
        depthwise_(depthwise),
        filterRows_(static_cast<size_t>(conv.window.height.filter)),
        filterColumns_(static_cast<size_t>(conv.window.width.filter)),
        fold_(foldOf(conv, depthwise)),
        zero_(static_cast<uint8_t>(weights.inputZeroPoint ^ weights.inputFlip)),
        flip_(weights.inputFlip),
        weightOffset_(static_cast<int8_t>(-weights.zeroPoint)),
        result_(weights.result) {
    const size_t places =
        divideUp(fold_ * conv.output.channels, depthwise.blockChannels) * depthwise.blockChannels;
    const size_t blockBytes = filterColumns_ * depthwise.columnBytes(filterRows_);
    packed_ = site.pack<uint8_t>(places / depthwise.blockChannels * blockBytes, [&](uint8_t* to) {
      forEachPlace([&](size_t place, size_t channel) {
        uint8_t* const block = to + place / depthwise_.blockChannels * blockBytes;
        if (depthwise_.factors == Quant8Factors::WIDE) {
          packChannel(weights, channel, place, reinterpret_cast<int16_t*>(block));
        } else {
          packChannel(weights, channel, place, block);
        }
      });
    });
    bias_ = site.pack<int32_t>(places, [&](int32_t* to) {
      forEachPlace([&](size_t place, size_t channel) { to[place] = bias(weights, channel); });
    });
    site.release(1);
    multiplier_ = AlignedBuffer<float>(places);
    forEachPlace(
        [&](size_t place, size_t channel) { multiplier_[place] = weights.multiplier[channel]; });
  }

  void compute(const std::byte* images, size_t line, size_t count, std::byte* out,
               size_t /*stride*/) const override {
    runLines(reinterpret_cast<const uint8_t*>(images), line, line + count,
             reinterpret_cast<uint8_t*>(out));
  }

 private:
  // How many positions fill a block when channels do not.
  static size_t foldOf(const ConvSite& conv, const Quant8Depthwise& depthwise) {
    const size_t most = std::min(depthwise.blockChannels / conv.output.channels, conv.output.width);
    return conv.window.width.stride == 1 ? std::max<size_t>(most, 1) : 1;
  }

  // Lines [begin, end), through all images; `out` is where the first of them goes.
  void runLines(const uint8_t* image, size_t begin, size_t end, uint8_t* out) const {
    const ops::WindowAxis& width = conv_.window.width;
    std::array<const uint8_t*, kMostFilterRows> rows;
    Quant8DepthwiseLine line = {
        .fold = fold_,
        .rows = rows.data(),
        .imageEnd = image + conv_.input.batch * conv_.input.height * lineBytes(),
        .filterRows = filterRows_,
        .filterColumns = filterColumns_,
        .dilation = static_cast<size_t>(width.dilation),
        .stride = static_cast<size_t>(width.stride),
        .firstColumn = width.origin(0),
        .imageColumns = conv_.input.width,
        .channels = conv_.output.channels,
        .count = conv_.output.width,
        .packed = packed_.data(),
        .bias = bias_.data(),
        .multiplier = multiplier_.data(),
        .zero = zero_,
        .flip = flip_,
        .weightOffset = weightOffset_,
        .result = result_,
        .out = nullptr,
        .buffer = nullptr};
    const size_t bufferBytes = depthwise_.bufferBytes(line);
    const PaddedLines::Shape shape = paddedShape(line);
    line.buffer = reinterpret_cast<uint8_t*>(
        threadBuffer(bufferBytes + (fold_ > 1 ? shape.totalBytes() : 0)));
    std::optional<PaddedLines> padded;
    if (fold_ > 1) padded.emplace(shape, line.buffer + bufferBytes);
    for (size_t i = begin; i < end; ++i) {
      findRows(image, i, padded ? &*padded : nullptr, rows.data());
      line.out = out + (i - begin) * line.count * line.channels;
      depthwise_.run(line);
    }
  }

  // With room for whole blocks behind the last column.
  PaddedLines::Shape paddedShape(const Quant8DepthwiseLine& line) const {
    const auto before = static_cast<size_t>(-line.firstColumn);
    const size_t columns = std::max(before + line.imageColumns, line.count + line.extent());
    return {.rows = filterRows_,
            .before = before * line.channels,
            .bytes = lineBytes(),
            .stride = columns * line.channels + depthwise_.blockChannels,
            .zero = zero_};
  }

  size_t lineBytes() const { return conv_.input.width * conv_.input.channels; }

  // `line` of the output, through all images.
  void findRows(const uint8_t* image, size_t line, PaddedLines* padded,
                const uint8_t** rows) const {
    const ops::WindowAxis& height = conv_.window.height;
    const int64_t top = height.origin(static_cast<int64_t>(line % conv_.output.height));
    const size_t first = line / conv_.output.height * conv_.input.height;
    for (int64_t u = 0; u < height.filter; ++u) {
      const int64_t y = top + u * height.dilation;
      const bool isInside = y >= 0 && y < height.input;
      rows[u] = isInside ? image + (first + static_cast<size_t>(y)) * lineBytes() : nullptr;
      // Lines that follow each other are in different places however the filter moves.
      const int64_t slot = height.dilation == 1 && isInside ? y % height.filter : u;
      if (padded != nullptr) rows[u] = padded->line(rows[u], static_cast<size_t>(slot));
    }
  }

  // Calls f(place, channel): see Quant8DepthwiseLine.
  template <typename F>
  void forEachPlace(F f) const {
    constexpr size_t kVectors = 4;
    const size_t lanes = depthwise_.blockChannels / kVectors;
    const size_t channels = fold_ * conv_.output.channels;
    size_t place = 0;
    for (size_t first = 0; first < channels; first += depthwise_.blockChannels) {
      for (size_t vector = 0; vector < kVectors; ++vector) {
        for (size_t lane = 0; lane < lanes; ++lane, ++place) {
          const size_t channel = first + interleavedChannel(vector, lane);
          if (channel >= channels) continue;
          f(place, fold_ == 1 ? channel : channel % conv_.output.channels);
        }
      }
    }
  }

  // T is what factors are of.
  template <typename T>
  void packChannel(const Quant8Weights& weights, size_t channel, size_t place, T* block) const {
    const size_t unit = depthwise_.unitLines();
    const size_t inBlock = place % depthwise_.blockChannels;
    const size_t columnValues = depthwise_.columnBytes(filterRows_) / sizeof(T);
    for (size_t u = 0; u < filterRows_; ++u) {
      for (size_t v = 0; v < filterColumns_; ++v) {
        T* const units = block + v * columnValues + u / unit * unit * depthwise_.blockChannels;
        units[inBlock * unit + u % unit] =
            static_cast<T>(weights.value(weightIndex(u * filterColumns_ + v, channel)));
      }
    }
  }

  // Less the input's zero point times the real sum of the channel's weights.
  int32_t bias(const Quant8Weights& weights, size_t channel) const {
    uint32_t sum = 0;
    for (size_t t = 0; t < filterRows_ * filterColumns_; ++t) {
      sum += static_cast<uint32_t>(weights.value(weightIndex(t, channel)) - weights.zeroPoint);
    }
    return static_cast<int32_t>(static_cast<uint32_t>(weights.bias[channel]) -
                                static_cast<uint32_t>(weights.inputZeroPoint) * sum);
  }

  size_t weightIndex(size_t tap, size_t channel) const {
    return tap * conv_.output.channels + channel;
  }

  const ConvSite conv_;
  const Quant8Depthwise& depthwise_;
  const size_t filterRows_;
  const size_t filterColumns_;
  const size_t fold_;
  const uint8_t zero_;
  const uint8_t flip_;
  const int8_t weightOffset_;
  const Quant8Result result_;
  Packed<uint8_t> packed_;
  Packed<int32_t> bias_;
  AlignedBuffer<float> multiplier_;
};

class Quant8DepthwiseKernel final : public Kernel {
 public:
  Quant8DepthwiseKernel(const ConvSite& conv, std::unique_ptr<const DepthwiseLines> lines)
      : lines_(std::move(lines)),
        count_(conv.output.batch * conv.output.height),
        channels_(conv.output.channels),
        lineBytes_(conv.output.width * channels_),
        lineWork_(lineBytes_ * static_cast<size_t>(conv.window.height.filter) *
                  static_cast<size_t>(conv.window.width.filter)) {}

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const images = operands.input<std::byte>(0);
    auto* const output = operands.output<std::byte>(0);
    services.parallelFor(count_, divideUp(kWorkPerRange, std::max<size_t>(lineWork_, 1)),
                         [&](size_t begin, size_t end) {
                           lines_->compute(images, begin, end - begin, output + begin * lineBytes_,
                                           channels_);
                         });
    return okStatus();
  }

 private:
  const std::unique_ptr<const DepthwiseLines> lines_;
  const size_t count_;  // of lines, through all images
  const size_t channels_;
  const size_t lineBytes_;
  const size_t lineWork_;  // products
};

}  // namespace

std::unique_ptr<DepthwiseLines> makeQuant8DepthwiseLines(const KernelSite& site,
                                                         const ConvSite& conv) {
  const auto filterRows = static_cast<size_t>(conv.window.height.filter);
  const size_t taps = filterRows * static_cast<size_t>(conv.window.width.filter);
  const Quant8Depthwise* const depthwise = quant8Depthwise(site.level);
  const ops::WindowAxis& width = conv.window.width;
  const int64_t columns = (width.filter - 1) * width.dilation + 1;
  if (depthwise == nullptr || filterRows > kMostFilterRows || taps > kMostTaps ||
      columns > kMostColumns) {
    return nullptr;
  }
  const Quant8Image image =
      depthwise->factors == Quant8Factors::SAME ? Quant8Image::SIGNED : Quant8Image::UNSIGNED;
  const auto weights = readQuant8Weights(site, conv.output.channels, taps, conv.activation,
                                         {depthwise->factors, image});
  // The kernel adds what the zero point takes away as a signed byte.
  if (!weights || weights->zeroPoint < -127 || weights->zeroPoint > 128) return nullptr;
  return std::make_unique<Quant8DepthwiseLines>(site, conv, *weights, *depthwise);
}

std::unique_ptr<Kernel> makeQuant8Depthwise(const KernelSite& site, const ConvSite& conv) {
  auto lines = makeQuant8DepthwiseLines(site, conv);
  if (lines == nullptr) return nullptr;
  return std::make_unique<Quant8DepthwiseKernel>(conv, std::move(lines));
}

}  // namespace halyard::cpudriver

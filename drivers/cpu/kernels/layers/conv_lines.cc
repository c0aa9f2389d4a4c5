// Where the window reaches over the image's edges, the lines that some lines of the output need are
// copied with their padding. Elsewhere they are read in the image itself.
#include "kernels/layers/conv_lines.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "kernels/matrix/product_parts.h"
#include "kernels/matrix/quant8_layer.h"
#include "kernels/matrix/quant8_tiles.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/even_pieces.h"
#include "ops/multiply_accumulate.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

// Copied lines should stay in the second-level cache, beside a panel of weights.
constexpr size_t kCopyBytes = 192 * 1024;
constexpr size_t kWantedItems = 32;  // for the threads to share
constexpr size_t kLeastBlocks = 4;
// Fewer rows than this in a line leave too many registers of the micro kernels unused.
constexpr int64_t kLeastWidth = 8;
// 8 bit rows take longer to be gathered than to be multiplied by few registers.
constexpr int64_t kLeastQuant8Width = 7;

// Copies with bytes flipped.
struct FlippedCopy {
  const std::byte* from;
  std::byte* to;
  size_t bytes;
  std::byte flip;
};
HALYARD_ALWAYS_INLINE void copyFlipped(const FlippedCopy* copy) {
  // By value, since bytes that are written might be the description.
  const auto [from, to, bytes, flip] = *copy;
  for (size_t i = 0; i < bytes; ++i) to[i] = from[i] ^ flip;
}

class LineConvKernel final : public Kernel {
 public:
  LineConvKernel(const ConvSite& conv, std::shared_ptr<const MatrixLayer> layer, bool addsInput)
      : conv_(conv), layer_(std::move(layer)), addsInput_(addsInput) {
    const ops::WindowAxis& width = conv.window.width;
    const ops::WindowAxis& height = conv.window.height;
    const int64_t reach = (width.output - 1) * width.stride + (width.filter - 1) * width.dilation +
                          1 - width.padBefore;
    cellsAfter_ = std::max<int64_t>(reach - width.input, 0);
    // Pieces that are longer than their part of the image reach behind an image.
    const auto taps = static_cast<size_t>(height.filter * width.filter);
    copies_ =
        layer_->depthBytes() != taps * cellBytes() || layer_->inputFlip() != std::byte{0} ||
        width.padBefore > 0 || cellsAfter_ > 0 || height.padBefore > 0 ||
        height.origin(height.output - 1) + (height.filter - 1) * height.dilation >= height.input;
    const auto channels = static_cast<int64_t>(conv.input.channels);
    lineElements_ =
        channels * (copies_ ? width.padBefore + width.input + cellsAfter_ : width.input);
    const bool isContiguous = width.dilation == 1;
    for (int64_t u = 0; u < height.filter; ++u) {
      for (int64_t v = 0; v < (isContiguous ? 1 : width.filter); ++v) {
        pieces_.push_back(u * height.dilation * lineElements_ + v * width.dilation * channels);
      }
    }
    const size_t lineBytes = this->lineBytes();
    const auto extent = static_cast<size_t>((height.filter - 1) * height.dilation);
    const size_t copied = std::max<size_t>(kCopyBytes / lineBytes, extent + 1) - extent;
    linesAtATime_ = std::max<size_t>(copied / static_cast<size_t>(height.stride), 1);
    blocks_ = std::min(conv.output.batch * conv.output.height,
                       std::max(divideUp(kWantedItems, layer_->panels()), kLeastBlocks));
  }

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const images = operands.input<std::byte>(0);
    auto* const output = operands.output<std::byte>(0);
    const auto* const addend = addsInput_ ? operands.lastInput<std::byte>() : nullptr;
    const size_t lines = conv_.output.batch * conv_.output.height;
    const size_t items = blocks_ * layer_->panels();
    const size_t grain = layer_->grain(items, lines * conv_.output.width);
    const auto range = [&](size_t begin, size_t end) {
      const TileUse tiles;  // of all lines
      forBlocksOfItems(begin, end, layer_->panels(),
                       [&](size_t block, size_t blockEnd, size_t panel, size_t panelEnd) {
                         runBlock(images, lines * block / blocks_, lines * blockEnd / blocks_,
                                  {panel, panelEnd}, addend, output);
                       });
    };
    services.parallelFor(items, grain, std::cref(range));
    return okStatus();
  }

 private:
  struct Panels {
    size_t begin;
    size_t end;
  };

  // Lines [begin, end) of the output, through all images.
  void runBlock(const std::byte* images, size_t begin, size_t end, Panels panels,
                const std::byte* addend, std::byte* output) const {
    const size_t height = conv_.output.height;
    while (begin < end) {
      const size_t image = begin / height;
      const size_t first = begin % height;
      const size_t count = std::min(end - begin, height - first);
      forEvenPieces(count, linesAtATime_, [&](size_t line, size_t lines) {
        runLines(images, image, first + line, first + line + lines, panels, addend, output);
      });
      begin += count;
    }
  }

  // Lines [begin, end) of the output of image `image`.
  void runLines(const std::byte* images, size_t image, size_t begin, size_t end, Panels panels,
                const std::byte* addend, std::byte* output) const {
    const ops::WindowAxis& height = conv_.window.height;
    const ops::WindowAxis& width = conv_.window.width;
    const size_t imageBytes = conv_.input.height * conv_.input.width * cellBytes();
    const size_t lineBytes = this->lineBytes();
    const int64_t top = height.origin(static_cast<int64_t>(begin));
    const std::byte* first = images + image * imageBytes;
    if (copies_) {
      const int64_t bottom =
          height.origin(static_cast<int64_t>(end) - 1) + (height.filter - 1) * height.dilation + 1;
      first = copyLines(first, top, bottom);
    } else {
      first += static_cast<size_t>(top) * lineBytes;
    }
    const size_t step = static_cast<size_t>(height.stride) * lineBytes;
    const size_t outputLine = conv_.output.width * layer_->outputRowBytes();
    const size_t offset = (image * conv_.output.height + begin) * outputLine;
    PieceRows rows = {first, static_cast<size_t>(width.stride) * cellBytes(), conv_.output.width,
                      pieces_, nullptr};
    for (size_t panel = panels.begin; panel < panels.end; ++panel) {
      for (size_t line = 0; line < end - begin; ++line) {
        const size_t at = offset + line * outputLine;
        rows.first = first + line * step;
        if (addend != nullptr) rows.addend = addend + at;
        layer_->multiplyPieces(rows, panel, panel + 1, output + at);
      }
    }
  }

  size_t cellBytes() const { return conv_.input.channels * layer_->elementBytes(); }
  size_t lineBytes() const { return static_cast<size_t>(lineElements_) * layer_->elementBytes(); }

  // Lines [top, bottom) of an image with their padding and as the layer wants them, in memory of
  // this thread.
  const std::byte* copyLines(const std::byte* image, int64_t top, int64_t bottom) const {
    const size_t lineBytes = this->lineBytes();
    const int zero = std::to_integer<int>(layer_->zero());
    const size_t imageLine = conv_.input.width * cellBytes();
    const size_t before = static_cast<size_t>(conv_.window.width.padBefore) * cellBytes();
    const size_t after = static_cast<size_t>(cellsAfter_) * cellBytes();
    std::byte* const copy = threadBuffer(static_cast<size_t>(bottom - top) * lineBytes);
    std::byte* to = copy;
    for (int64_t y = top; y < bottom; ++y, to += lineBytes) {
      if (y < 0 || y >= conv_.window.height.input) {
        std::memset(to, zero, lineBytes);
        continue;
      }
      std::memset(to, zero, before);
      const FlippedCopy line = {image + static_cast<size_t>(y) * imageLine, to + before, imageLine,
                                layer_->inputFlip()};
      if (line.flip == std::byte{0}) {
        std::memcpy(line.to, line.from, line.bytes);
      } else {
        ops::runBest<&copyFlipped>(&line);
      }
      std::memset(to + before + imageLine, zero, after);
    }
    return copy;
  }

  const ConvSite conv_;
  const std::shared_ptr<const MatrixLayer> layer_;
  const bool addsInput_;
  int64_t cellsAfter_ = 0;    // of padding, behind a line
  bool copies_ = false;       // lines; otherwise they are read in the image
  int64_t lineElements_ = 0;  // of the image, or of its copy
  std::vector<ptrdiff_t> pieces_;
  size_t linesAtATime_ = 1;  // of the output, in one copy
  size_t blocks_ = 1;        // of lines, for the threads to share
};

}  // namespace

bool takesLines(const ConvSite& conv, size_t elementBytes) {
  const ops::WindowAxis& height = conv.window.height;
  const ops::WindowAxis& width = conv.window.width;
  if (height.filter * width.filter == 1) return false;
  const size_t cellBytes = conv.input.channels * elementBytes;
  // The lines that a line of the output needs must be worth the copy, and must fit.
  const auto lines = static_cast<size_t>((height.filter - 1) * height.dilation + 1);
  const auto cells = static_cast<size_t>(
      std::max(width.padBefore + width.input,
               (width.output - 1) * width.stride + (width.filter - 1) * width.dilation + 1));
  return lines <= kCopyBytes && cells <= kCopyBytes / lines &&
         cellBytes <= kCopyBytes / lines / cells;
}

bool suitsLines(const ConvSite& conv, size_t elementBytes) {
  constexpr size_t kAliasing = 2048;  // see rowStride
  const ops::WindowAxis& width = conv.window.width;
  const size_t step = static_cast<size_t>(width.stride) * conv.input.channels * elementBytes;
  return step % kAliasing != 0 &&
         width.output >= (elementBytes == 1 ? kLeastQuant8Width : kLeastWidth) &&
         takesLines(conv, elementBytes);
}

namespace {

size_t linePieces(const ConvSite& conv) {
  const ops::Window& window = conv.window;
  return static_cast<size_t>(window.height.filter *
                             (window.width.dilation == 1 ? 1 : window.width.filter));
}

// The filter, [channels][pieces][`padded`] instead of [channels][pieces][`piece`].
std::vector<uint8_t> paddedFilter(const KernelSite& site, size_t piece, size_t padded) {
  const ops::Tensor& filter = site.inputs[1];
  const size_t pieces = filter.elementCount() / piece;
  std::vector<uint8_t> to(pieces * padded, static_cast<uint8_t>(ops::filterZeroPoint(filter)));
  for (size_t i = 0; i < pieces; ++i) {
    std::copy_n(filter.as<uint8_t>() + i * piece, piece, to.data() + i * padded);
  }
  return to;
}

}  // namespace

std::unique_ptr<Kernel> makeQuant8LineConv(const KernelSite& site, const ConvSite& conv) {
  constexpr size_t kUnit = 4;  // pieces are multiples of this
  const size_t columns = conv.output.channels;
  const size_t pieces = linePieces(conv);
  const size_t piece = site.inputs[1].elementCount() / columns / pieces;
  const size_t padded = divideUp(piece, kUnit) * kUnit;
  std::unique_ptr<MatrixLayer> layer;
  if (padded == piece) {
    layer = makeQuant8LayerForCopies(site, columns, conv.activation, pieces);
  } else if (2 * padded <= 3 * piece) {
    const std::vector<uint8_t> filter = paddedFilter(site, piece, padded);
    const PartSite part(site, filter.data(), 0, columns, pieces * padded);
    layer = makeQuant8LayerForCopies(part.site(), columns, conv.activation, pieces);
    if (layer != nullptr) site.release(1);
  }
  if (layer == nullptr) return nullptr;
  return makeLineConv(conv, std::move(layer), site.fused.addsInput);
}

std::unique_ptr<Kernel> makeLineConv(const ConvSite& conv, std::shared_ptr<const MatrixLayer> layer,
                                     bool addsInput) {
  return std::make_unique<LineConvKernel>(conv, std::move(layer), addsInput);
}

}  // namespace halyard::cpudriver

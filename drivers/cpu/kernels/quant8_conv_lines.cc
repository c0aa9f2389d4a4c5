// The lines of the image that some lines of the output need are copied with their padding, and with
// the signedness for which weights have no zero point: no row needs a term of its own.
#include "kernels/quant8_conv_lines.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/aligned_buffer.h"
#include "kernels/even_pieces.h"
#include "kernels/matrix_layer.h"
#include "kernels/quant8_panels.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

// Copied lines should stay in the second-level cache, beside a panel of weights.
constexpr size_t kCopyBytes = 192 * 1024;
constexpr size_t kWantedItems = 8;  // for the threads to share
// Fewer rows than this in a line leave registers of the micro kernels unused.
constexpr size_t kLeastWidth = 6;
// Of a shorter piece too much is filled up to whole units, and the same patches are gathered quickly.
constexpr size_t kLeastPiece = 16;
// What a unit may read behind a piece.
constexpr size_t kSlack = 64;

struct FlippedCopy {
  const uint8_t* from;
  size_t count;
  uint8_t flip;
  uint8_t* to;
};
HALYARD_ALWAYS_INLINE void copyFlipped(const FlippedCopy* copy) {
  const uint8_t* const from = copy->from;
  uint8_t* const to = copy->to;
  const uint8_t flip = copy->flip;
  for (size_t i = 0; i < copy->count; ++i) to[i] = static_cast<uint8_t>(from[i] ^ flip);
}

// Sizes of the copies of lines.
struct LineShape {
  size_t before;  // bytes of padding
  size_t bytes;   // of a line of the image
  size_t stride;  // of a copy

  LineShape(const ConvSite& conv) {  // NOLINT(google-explicit-constructor)
    const ops::WindowAxis& width = conv.window.width;
    const int64_t reach =
        (width.output - 1) * width.stride + (width.filter - 1) * width.dilation + 1;
    const auto cells = static_cast<size_t>(std::max(width.padBefore + width.input, reach));
    before = static_cast<size_t>(width.padBefore) * conv.input.channels;
    bytes = conv.input.width * conv.input.channels;
    stride = cells * conv.input.channels;
  }
};

class Quant8LineConvKernel final : public Kernel {
 public:
  Quant8LineConvKernel(const KernelSite& site, const ConvSite& conv, const Quant8Gemm& gemm,
                       const Quant8Weights& weights)
      : conv_(conv),
        shape_(conv),
        pieces_(piecesOf(conv, shape_)),
        panels_(site, gemm, weights, conv.output.channels, pieces_.size()),
        isSigned_(weights.isSignedInput),
        flip_(weights.inputFlip),
        zero_(static_cast<uint8_t>(weights.inputZeroPoint)) {
    const size_t lines = conv.output.batch * conv.output.height;
    const size_t copied = std::max(kCopyBytes / shape_.stride, extent() + 1) - extent();
    linesAtATime_ = std::clamp<size_t>(copied / static_cast<size_t>(conv.window.height.stride), 1,
                                       std::max<size_t>(lines / kWantedItems, 1));
  }

  // Where a row's pieces begin: each is a line of the filter, or a cell of it if there are gaps.
  static std::vector<ptrdiff_t> piecesOf(const ConvSite& conv, const LineShape& shape) {
    const ops::WindowAxis& height = conv.window.height;
    const ops::WindowAxis& width = conv.window.width;
    const auto stride = static_cast<ptrdiff_t>(shape.stride);
    const auto channels = static_cast<ptrdiff_t>(conv.input.channels);
    std::vector<ptrdiff_t> pieces;
    for (int64_t u = 0; u < height.filter; ++u) {
      for (int64_t v = 0; v < (width.dilation == 1 ? 1 : width.filter); ++v) {
        pieces.push_back(u * height.dilation * stride + v * width.dilation * channels);
      }
    }
    return pieces;
  }

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const images = operands.input<uint8_t>(0);
    auto* const output = operands.output<uint8_t>(0);
    const size_t height = conv_.output.height;
    const size_t itemsOfImage = divideUp(height, linesAtATime_);
    const size_t products =
        conv_.output.width * linesAtATime_ * panels_.depth() * panels_.columns();
    const size_t grain = divideUp(MatrixLayer::kQuant8ProductsForThread, products);
    services.parallelFor(conv_.output.batch * itemsOfImage, grain, [&](size_t begin, size_t end) {
      for (size_t item = begin; item < end; ++item) {
        const size_t part = item % itemsOfImage;
        runLines(images, item / itemsOfImage, height * part / itemsOfImage,
                 height * (part + 1) / itemsOfImage, output);
      }
    });
    return okStatus();
  }

 private:
  // Lines between the first and the last that a line of the output needs.
  size_t extent() const {
    return static_cast<size_t>((conv_.window.height.filter - 1) * conv_.window.height.dilation);
  }

  // Lines [begin, end) of the output of image `image`.
  void runLines(const uint8_t* images, size_t image, size_t begin, size_t end,
                uint8_t* output) const {
    const auto heightStride = static_cast<size_t>(conv_.window.height.stride);
    const size_t copied = (end - begin - 1) * heightStride + extent() + 1;
    const uint8_t* const lines =
        copyLines(images + image * conv_.input.height * shape_.bytes,
                  conv_.window.height.origin(static_cast<int64_t>(begin)), copied);
    Quant8Rows rows = {lines,
                       static_cast<size_t>(conv_.window.width.stride) * conv_.input.channels,
                       conv_.output.width,
                       pieces_,
                       isSigned_,
                       nullptr};
    const size_t outputLine = conv_.output.width * conv_.output.channels;
    uint8_t* const first = output + (image * conv_.output.height + begin) * outputLine;
    for (size_t panel = 0; panel < panels_.count(); ++panel) {
      for (size_t line = 0; line < end - begin; ++line) {
        rows.first = lines + line * heightStride * shape_.stride;
        panels_.multiply(rows, panel, panel + 1, first + line * outputLine);
      }
    }
  }

  // `count` lines from `top` on, which may be outside of the image.
  const uint8_t* copyLines(const uint8_t* image, int64_t top, size_t count) const {
    auto* const copies = reinterpret_cast<uint8_t*>(threadBuffer(count * shape_.stride + kSlack));
    for (size_t i = 0; i < count; ++i) {
      uint8_t* const to = copies + i * shape_.stride;
      const int64_t y = top + static_cast<int64_t>(i);
      if (y < 0 || y >= conv_.window.height.input) {
        std::memset(to, zero_, shape_.stride);
        continue;
      }
      const size_t inside = std::min(shape_.bytes, shape_.stride - shape_.before);
      std::memset(to, zero_, shape_.before);
      const FlippedCopy copy = {image + static_cast<size_t>(y) * shape_.bytes, inside, flip_,
                                to + shape_.before};
      ops::runBest<&copyFlipped>(&copy);
      std::memset(to + shape_.before + inside, zero_, shape_.stride - shape_.before - inside);
    }
    return copies;
  }

  const ConvSite conv_;
  const LineShape shape_;
  const std::vector<ptrdiff_t> pieces_;
  const Quant8Panels panels_;
  const bool isSigned_;
  const uint8_t flip_;
  const uint8_t zero_;  // after flipping
  size_t linesAtATime_ = 1;
};

// Whether the lines that one line of the output needs fit the copy, and rows do not compete for a
// few places of the first-level cache.
bool suitsLines(const ConvSite& conv) {
  constexpr size_t kAliasing = 2048;  // see rowStride
  const ops::WindowAxis& height = conv.window.height;
  const ops::WindowAxis& width = conv.window.width;
  if (height.filter * width.filter == 1 || conv.output.width < kLeastWidth) return false;
  if (static_cast<size_t>(width.stride) * conv.input.channels % kAliasing == 0) return false;
  const int64_t cellsOfPiece = width.dilation == 1 ? width.filter : 1;
  if (static_cast<size_t>(cellsOfPiece) * conv.input.channels < kLeastPiece) return false;
  const int64_t cells =
      std::max(width.padBefore + width.input,
               (width.output - 1) * width.stride + (width.filter - 1) * width.dilation + 1);
  const auto lines = static_cast<size_t>((height.filter - 1) * height.dilation + 1);
  return lines <= kCopyBytes && static_cast<size_t>(cells) <= kCopyBytes / lines &&
         conv.input.channels <= kCopyBytes / lines / static_cast<size_t>(cells);
}

}  // namespace

std::unique_ptr<Kernel> makeQuant8LineConv(const KernelSite& site, const ConvSite& conv) {
  const Quant8Gemm* const gemm = quant8Gemm(site.level);
  if (gemm == nullptr || gemm->factors == Quant8Factors::WIDE || !suitsLines(conv)) return nullptr;
  const Quant8Image image =
      gemm->factors == Quant8Factors::SAME ? Quant8Image::SIGNED : Quant8Image::UNSIGNED;
  const size_t products = site.inputs[1].elementCount() / conv.output.channels;
  const auto weights = readQuant8Weights(site, conv.output.channels, products, conv.activation,
                                         {gemm->factors, image});
  if (!weights || weights->zeroPoint != 0) return nullptr;
  return std::make_unique<Quant8LineConvKernel>(site, conv, *gemm, *weights);
}

}  // namespace halyard::cpudriver

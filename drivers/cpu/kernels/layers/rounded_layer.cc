// Rows of bytes: rounded tile by tile where each has a range of its own; otherwise gathered in
// images that have been rounded as a whole.
#include "kernels/layers/rounded_layer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/layers/patch_gatherer.h"
#include "kernels/matrix/byte_panels.h"
#include "kernels/matrix/matrix_layer.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/even_pieces.h"
#include "kernels/vectors/float_functions.h"
#include "ops/small_copy.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kTileBytes = 64 * 1024;  // of rows, which should stay in the second-level cache
constexpr size_t kMostRows = 192;         // of a tile
constexpr size_t kWantedItems = 32;       // for the threads to share
// Products of 8 bits that are worth a range, and a second thread.
constexpr size_t kRangeProducts = 4 * MatrixLayer::kRangeProducts;
constexpr size_t kThreadProducts = 4 * MatrixLayer::kThreadProducts;
// Elements to be rounded that are worth a range, and a second thread.
constexpr size_t kRangeElements = 1 << 15;
constexpr size_t kThreadElements = 1 << 16;
constexpr size_t kRoundedAtOnce = 4096;  // elements of some lines that are rounded before copied

// How the bytes of a row stand for its values.
struct RowCode {
  float step;    // NaN where a value is not finite
  int32_t zero;  // the byte that is 0
};

RowCode codeOf(const FloatRange& range, const ops::RowSteps& steps) {
  if (std::isinf(range.high - range.low)) return {std::numeric_limits<float>::quiet_NaN(), 0};
  return {steps.step, static_cast<int32_t>(std::clamp(-steps.least, 0.0f, 255.0f))};
}

// The bytes of a row's values.
void toBytes(const FloatFunctions& functions, const float* from, size_t count, const RowCode& code,
             const ops::RowSteps& steps, uint8_t* to) {
  if (std::isnan(code.step)) {
    std::memset(to, 0, count);
  } else {
    functions.toBytes(from, to, count, steps);
  }
}

// Whether rows become bytes that way.
bool suitsBytes(const ops::RoundingSteps& steps) {
  return steps.least == std::floor(steps.least) && steps.greatest == std::floor(steps.greatest) &&
         steps.greatest - steps.least >= 1 && steps.greatest - steps.least <= 255 &&
         std::abs(steps.least) <= 1000 && std::isnormal(steps.smallestRange) &&
         std::isfinite(1000 / steps.smallestRange);
}

// The memory of a kernel's results, and of the addend with their layout, which may be null.
struct FloatResults {
  const float* addend;
  float* output;
};
FloatResults resultsOf(const KernelOperands& operands, bool addsInput) {
  return {addsInput ? operands.lastInput<float>() : nullptr, operands.output<float>(0)};
}

// A kernel's product of `rows` rows, tile by tile: calls fill(begin, end, to) for rows [begin,
// end).
template <typename F>
void multiplyRows(const BytePanels& panels, const ops::ClampRange<float>& range, size_t rows,
                  size_t stride, const FloatResults& results, ops::KernelServices& services,
                  F fill) {
  const size_t leastRows = panels.rowsAtOnce();
  const size_t tileRows = std::clamp(kTileBytes / stride, leastRows, kMostRows);
  const size_t blocks = std::min(divideUp(rows, leastRows), kWantedItems);
  // With some panels for an item, the rows are filled in for each.
  const size_t parts =
      blocks < kWantedItems / 2 ? std::min(panels.count(), kWantedItems / blocks) : 1;
  const size_t items = blocks * parts;
  const size_t products = rows * panels.depth() * panels.columns();
  const size_t grain = grainOf(items, products / items, kRangeProducts, kThreadProducts);
  const auto runTiles = [&](size_t begin, size_t end, size_t panel, size_t panelEnd) {
    auto* const bytes = reinterpret_cast<uint8_t*>(threadBuffer(tileRows * stride));
    float steps[kMostRows];
    float zeros[kMostRows];
    forEvenPieces(end - begin, tileRows, [&](size_t offset, size_t count) {
      const size_t first = begin + offset;
      fill(first, first + count, RowBytes{bytes, stride, steps, zeros});
      const size_t at = first * panels.columns();
      const float* const addend = results.addend == nullptr ? nullptr : results.addend + at;
      panels.multiply({bytes, stride, count, steps, zeros, addend}, range, panel, panelEnd,
                      results.output + at);
    });
  };
  services.parallelFor(items, grain, [&](size_t begin, size_t end) {
    forBlocksOfItems(begin, end, parts,
                     [&](size_t block, size_t blockEnd, size_t part, size_t partEnd) {
                       runTiles(rows * block / blocks, rows * blockEnd / blocks,
                                panels.count() * part / parts, panels.count() * partEnd / parts);
                     });
  });
}

size_t strideOf(const BytePanels& panels) {
  constexpr size_t kAliasing = 4096;  // see rowStride in matrix_layer.h
  const size_t stride = panels.rowBytes();
  return stride % kAliasing == 0 ? stride + 64 : stride;
}

// Each row has a range of its own.
class RoundedRowsKernel final : public Kernel {
 public:
  RoundedRowsKernel(const KernelSite& site, BytePanels panels, ops::FuseCode activation)
      : panels_(std::move(panels)),
        functions_(floatFunctions(site.level)),
        steps_(site.fused.rounding->steps),
        range_(ops::activationRange(activation)),
        rows_(site.inputs[0].elementCount() / panels_.depth()),
        addsInput_(site.fused.addsInput) {}

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const input = operands.input<float>(0);
    const size_t depth = panels_.depth();
    const size_t stride = strideOf(panels_);
    multiplyRows(
        panels_, range_, rows_, stride, resultsOf(operands, addsInput_), services,
        [&](size_t begin, size_t end, const RowBytes& to) {
          functions_.roundRows({input + begin * depth, depth, end - begin, depth}, steps_, to);
        });
    return okStatus();
  }

 private:
  const BytePanels panels_;
  const FloatFunctions& functions_;
  const ops::RoundingSteps steps_;
  const ops::ClampRange<float> range_;
  const size_t rows_;
  const bool addsInput_;
};

// The convolution of images whose padding is part of them.
ConvSite paddedSite(const ConvSite& conv) {
  ConvSite padded = conv;
  const auto pad = [](ops::WindowAxis* axis) {
    const int64_t end = (axis->output - 1) * axis->stride + (axis->filter - 1) * axis->dilation + 1;
    axis->input = std::max(axis->padBefore + axis->input, end);
    axis->padBefore = 0;
  };
  pad(&padded.window.height);
  pad(&padded.window.width);
  padded.input.height = static_cast<size_t>(padded.window.height.input);
  padded.input.width = static_cast<size_t>(padded.window.width.input);
  return padded;
}

// Each image has a range.
class RoundedConvKernel final : public Kernel {
 public:
  RoundedConvKernel(const KernelSite& site, BytePanels panels, const ConvSite& conv)
      : panels_(std::move(panels)),
        functions_(floatFunctions(site.level)),
        steps_(site.fused.rounding->steps),
        conv_(conv),
        padded_(paddedSite(conv)),
        addsInput_(site.fused.addsInput),
        gatherer_(padded_, 1, std::byte{0}, strideOf(panels_)) {}

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const size_t lines = conv_.input.batch * conv_.input.height;
    const size_t imageBytes = padded_.input.height * padded_.input.width * padded_.input.channels;
    // Images of bytes, and in front of them the ranges of lines and the values derived from them.
    const size_t front = conv_.input.batch * sizeof(ImageCode) + lines * sizeof(FloatRange);
    auto* const memory = static_cast<std::byte*>(
        services.scratch(divideUp(front, 64) * 64 + conv_.input.batch * imageBytes));
    auto* const ranges = reinterpret_cast<FloatRange*>(memory);
    auto* const codes = reinterpret_cast<ImageCode*>(ranges + lines);
    std::byte* const images = memory + divideUp(front, 64) * 64;
    roundImages(operands.input<float>(0), ranges, codes, reinterpret_cast<uint8_t*>(images),
                services);
    const size_t rowsOfImage = conv_.output.height * conv_.output.width;
    multiplyRows(panels_, ops::activationRange(conv_.activation), conv_.output.batch * rowsOfImage,
                 strideOf(panels_), resultsOf(operands, addsInput_), services,
                 [&](size_t begin, size_t end, const RowBytes& to) {
                   gatherer_.gather(images, begin, end, reinterpret_cast<std::byte*>(to.first));
                   for (size_t row = begin; row < end; ++row) {
                     const RowCode& code = codes[row / rowsOfImage].code;
                     to.steps[row - begin] = code.step;
                     to.zeros[row - begin] = static_cast<float>(code.zero);
                   }
                 });
    return okStatus();
  }

 private:
  struct ImageCode {
    ops::RowSteps steps;
    RowCode code;
  };

  void roundImages(const float* from, FloatRange* ranges, ImageCode* codes, uint8_t* to,
                   ops::KernelServices& services) const {
    const size_t height = conv_.input.height;
    const size_t lines = conv_.input.batch * height;
    const size_t line = conv_.input.width * conv_.input.channels;
    const size_t grain = grainOf(lines, line, kRangeElements, kThreadElements);
    services.parallelFor(lines, grain, [&](size_t begin, size_t end) {
      // Lines of one image have one range; the remaining lines have an empty range.
      std::fill(ranges + begin, ranges + end, FloatRange{0, 0});
      for (size_t y = begin; y < end;) {
        const size_t imageEnd = std::min(end, (y / height + 1) * height);
        ranges[y] = functions_.findRange(from + y * line, (imageEnd - y) * line);
        y = imageEnd;
      }
    });
    for (size_t image = 0; image < conv_.input.batch; ++image) {
      FloatRange all = {0, 0};
      for (size_t y = image * height; y < (image + 1) * height; ++y) {
        all.low = std::min(all.low, ranges[y].low);
        all.high = std::max(all.high, ranges[y].high);
      }
      const ops::RowSteps steps = ops::stepsOfRow(steps_, all.low, all.high);
      codes[image] = {steps, codeOf(all, steps)};
    }
    const size_t paddedLines = conv_.input.batch * padded_.input.height;
    const size_t paddedGrain = grainOf(paddedLines, line, kRangeElements, kThreadElements);
    services.parallelFor(paddedLines, paddedGrain, [&](size_t begin, size_t end) {
      while (begin < end) {
        const size_t image = begin / padded_.input.height;
        const size_t imageEnd = std::min(end, (image + 1) * padded_.input.height);
        roundLines(from, codes[image], begin, imageEnd, to);
        begin = imageEnd;
      }
    });
  }

  // Lines [begin, end) of the padded images, which are all of one of them.
  void roundLines(const float* from, const ImageCode& code, size_t begin, size_t end,
                  uint8_t* to) const {
    const size_t height = conv_.input.height;
    const size_t line = conv_.input.width * conv_.input.channels;
    const size_t paddedLine = padded_.input.width * padded_.input.channels;
    const size_t left = static_cast<size_t>(conv_.window.width.padBefore) * conv_.input.channels;
    std::memset(to + begin * paddedLine, code.code.zero, (end - begin) * paddedLine);
    const size_t image = begin / padded_.input.height;
    const size_t top =
        image * padded_.input.height + static_cast<size_t>(conv_.window.height.padBefore);
    const size_t first = std::max(begin, top);
    const size_t last = std::min(end, top + height);
    if (first >= last) return;
    forEvenPieces(last - first, std::max<size_t>(kRoundedAtOnce / line, 1),
                  [&](size_t offset, size_t count) {
                    const size_t y = first + offset;
                    std::byte* const bytes = threadBuffer(count * line);
                    toBytes(functions_, from + (image * height + y - top) * line, count * line,
                            code.code, code.steps, reinterpret_cast<uint8_t*>(bytes));
                    auto* const lines = reinterpret_cast<std::byte*>(to) + y * paddedLine + left;
                    for (size_t i = 0; i < count; ++i) {
                      ops::copySmall(lines + i * paddedLine, bytes + i * line, line);
                    }
                  });
  }

  const BytePanels panels_;
  const FloatFunctions& functions_;
  const ops::RoundingSteps steps_;
  const ConvSite conv_;
  const ConvSite padded_;
  const bool addsInput_;
  const PatchGatherer gatherer_;
};

bool takesSite(const KernelSite& site) {
  return !site.fused.hasPadding() && hasConstantWeights(site) &&
         site.inputs[0].type == OperandType::TENSOR_FLOAT32 &&
         suitsBytes(site.fused.rounding->steps);
}

bool isPointwise(const ConvSite& conv) {
  const auto isTrivial = [](const ops::WindowAxis& axis) {
    return axis.filter == 1 && axis.stride == 1 && axis.padBefore == 0 && axis.output == axis.input;
  };
  return isTrivial(conv.window.height) && isTrivial(conv.window.width);
}

}  // namespace

std::unique_ptr<Kernel> makeRoundedConv(const KernelSite& site, const ConvSite& conv) {
  if (!takesSite(site)) return nullptr;
  const size_t extent = site.fused.rounding->extent;
  const bool byPixel = isPointwise(conv) && extent == conv.input.channels;
  if (!byPixel && extent != conv.input.height * conv.input.width * conv.input.channels) {
    return nullptr;
  }
  auto panels = BytePanels::make(site, conv.output.channels);
  if (!panels) return nullptr;
  if (byPixel) {
    return std::make_unique<RoundedRowsKernel>(site, std::move(*panels), conv.activation);
  }
  return std::make_unique<RoundedConvKernel>(site, std::move(*panels), conv);
}

std::unique_ptr<Kernel> makeRoundedConnection(const KernelSite& site, ops::FuseCode activation) {
  if (!takesSite(site) || site.fused.rounding->extent != site.inputs[1].dims[1]) return nullptr;
  auto panels = BytePanels::make(site, site.inputs[1].dims[0]);
  if (!panels) return nullptr;
  return std::make_unique<RoundedRowsKernel>(site, std::move(*panels), activation);
}

}  // namespace halyard::cpudriver

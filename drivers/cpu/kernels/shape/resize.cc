// Bilinear resizing. Of float images: between two lines first, then between the cells of the
// result. Of 8 bit images, which are rounded once, as the reference kernel does it: all four cells
// at once.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/makers.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/float_functions.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kGrainElements = 1 << 14;

// Larger images would have large tables of where their lines and columns lie, which a small model
// can ask for.
constexpr size_t kMostPositions = 1 << 15;

// A thread keeps its working memory. The reference kernel computes images that need more.
constexpr size_t kMostBytesOfThread = 1 << 20;

// Where an output coordinate lies: between two of the input's.
struct Source {
  size_t low;
  size_t high;
  float weight;  // of `high`
};

struct Mode {
  bool alignCorners = false;
  bool halfPixelCenters = false;
};

// As the reference kernel finds it.
Source sourceOf(const Mode& mode, size_t output, size_t inputSize, size_t outputSize) {
  const float ratio = mode.alignCorners && outputSize > 1
                          ? static_cast<float>(inputSize - 1) / static_cast<float>(outputSize - 1)
                          : static_cast<float>(inputSize) / static_cast<float>(outputSize);
  const float position = mode.halfPixelCenters ? (static_cast<float>(output) + 0.5f) * ratio - 0.5f
                                               : static_cast<float>(output) * ratio;
  const auto last = static_cast<float>(inputSize - 1);
  const float low = std::clamp(std::floor(position), 0.0f, last);
  const float high = std::clamp(std::ceil(position), low, last);
  Source source = {std::min(static_cast<size_t>(low), inputSize - 1),
                   std::min(static_cast<size_t>(high), inputSize - 1), position - low};
  if (source.low == source.high) source.weight = 0;
  return source;
}

std::vector<Source> sourcesOf(const Mode& mode, size_t inputSize, size_t outputSize) {
  std::vector<Source> sources(outputSize);
  for (size_t i = 0; i < outputSize; ++i) {
    sources[i] = sourceOf(mode, i, inputSize, outputSize);
  }
  return sources;
}

// Batches and channels are the same on both sides.
struct Geometry {
  Geometry(const KernelSite& site, const Mode& mode)
      : batch(site.inputs[0].dims[0]),
        channels(site.inputs[0].dims[3]),
        inputHeight(site.inputs[0].dims[1]),
        inputWidth(site.inputs[0].dims[2]),
        lines(sourcesOf(mode, inputHeight, site.outputs[0].dims[1])),
        columns(sourcesOf(mode, inputWidth, site.outputs[0].dims[2])) {}

  size_t inputLine() const { return inputWidth * channels; }
  size_t outputLine() const { return columns.size() * channels; }
  size_t outputLines() const { return batch * lines.size(); }
  // Among all images' lines, the first of the image that the output's line `i` is made from.
  size_t firstLine(size_t i) const { return i / lines.size() * inputHeight; }

  size_t batch;
  size_t channels;
  size_t inputHeight;
  size_t inputWidth;
  std::vector<Source> lines;
  std::vector<Source> columns;
};

class ResizeKernel final : public Kernel {
 public:
  ResizeKernel(const KernelSite& site, const Mode& mode)
      : functions_(floatFunctions(site.level)), geometry_(site, mode) {}

  static size_t bytesOfThread(size_t inputWidth, size_t channels) {
    return inputWidth * channels * sizeof(float);
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const images = operands.input<float>(0);
    auto* const output = operands.output<float>(0);
    const Geometry& g = geometry_;
    const size_t inputLine = g.inputLine();
    services.parallelFor(
        g.outputLines(), kGrainElements / g.outputLine() + 1, [&](size_t begin, size_t end) {
          auto* const blended =
              reinterpret_cast<float*>(threadBuffer(bytesOfThread(g.inputWidth, g.channels)));
          for (size_t i = begin; i < end; ++i) {
            const Source& line = g.lines[i % g.lines.size()];
            const float* const image = images + g.firstLine(i) * inputLine;
            const float* from = image + line.low * inputLine;
            if (line.weight != 0) {
              functions_.blend(from, image + line.high * inputLine, line.weight, blended,
                               inputLine);
              from = blended;
            }
            resizeLine(from, output + i * g.outputLine());
          }
        });
    return okStatus();
  }

 private:
  void resizeLine(const float* from, float* to) const {
    const size_t channels = geometry_.channels;
    for (const Source& column : geometry_.columns) {
      functions_.blend(from + column.low * channels, from + column.high * channels, column.weight,
                       to, channels);
      to += channels;
    }
  }

  const FloatFunctions& functions_;
  const Geometry geometry_;
};

// Some columns of a line of the image, as floats: for each column of the output its cell on the
// left and on the right.
struct SpreadLine {
  size_t line = SIZE_MAX;  // of all images
  float* left = nullptr;
  float* right = nullptr;
};

struct Columns {
  const Source* sources;
  size_t count;
  size_t channels;
};

// kChannels: how many there are; 0 stands for columns.channels.
template <typename T, size_t kChannels>
HALYARD_ALWAYS_INLINE void spreadCells(const T* from, const Columns& columns,
                                       const SpreadLine& to) {
  const size_t channels = kChannels == 0 ? columns.channels : kChannels;
  float* __restrict left = to.left;
  float* __restrict right = to.right;
  for (size_t j = 0; j < columns.count; ++j) {
    const T* const low = from + columns.sources[j].low * channels;
    const T* const high = from + columns.sources[j].high * channels;
    for (size_t c = 0; c < channels; ++c) *left++ = static_cast<float>(low[c]);
    for (size_t c = 0; c < channels; ++c) *right++ = static_cast<float>(high[c]);
  }
}

template <typename T>
HALYARD_ALWAYS_INLINE void spreadLine(const T* from, const Columns* columns, const SpreadLine* to) {
  if (columns->channels == 1) return spreadCells<T, 1>(from, *columns, *to);
  if (columns->channels == 3) return spreadCells<T, 3>(from, *columns, *to);
  spreadCells<T, 0>(from, *columns, *to);
}

struct Blend {
  const SpreadLine* top;
  const SpreadLine* bottom;
  float bottomWeight;
  const float* rightWeights;
  size_t count;
};

// In the order in which the reference kernel multiplies and adds. So results near the middle of two
// values are rounded to the same value.
template <typename T>
HALYARD_ALWAYS_INLINE void blendBytes(const Blend* blend, T* __restrict to) {
  const float* __restrict topLeft = blend->top->left;
  const float* __restrict topRight = blend->top->right;
  const float* __restrict bottomLeft = blend->bottom->left;
  const float* __restrict bottomRight = blend->bottom->right;
  const float* __restrict rightWeights = blend->rightWeights;
  const float bottom = blend->bottomWeight;
  const float top = 1 - bottom;
  const size_t count = blend->count;
  for (size_t i = 0; i < count; ++i) {
    const float right = rightWeights[i];
    const float left = 1 - right;
    const float weights[4] = {top * left, top * right, bottom * left, bottom * right};
    const float value = topLeft[i] * weights[0] + topRight[i] * weights[1] +
                        bottomLeft[i] * weights[2] + bottomRight[i] * weights[3];
    // To nearest, ties away from zero: the constant is the largest below one half.
    to[i] = static_cast<T>(static_cast<int32_t>(value + std::copysign(0x1.fffffep-2f, value)));
  }
}

#if defined(__x86_64__)
template <typename T>
HALYARD_TARGET_AVX512 void blendBytesAvx512(const Blend* blend, T* to) {
  blendBytes(blend, to);
}
#endif

template <typename T>
class Quant8ResizeKernel final : public Kernel {
 public:
  Quant8ResizeKernel(const KernelSite& site, const Mode& mode) : geometry_(site, mode) {
#if defined(__x86_64__)
    if (site.level >= ops::SimdLevel::AVX512) blend_ = blendBytesAvx512<T>;
#endif
  }

  static size_t bytesOfThread(size_t channels) {
    return bytesOfColumns(columnsAtATime(channels), channels);
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const images = operands.input<T>(0);
    auto* const output = operands.output<T>(0);
    const size_t columns = geometry_.columns.size();
    services.parallelFor(geometry_.outputLines(), kGrainElements / geometry_.outputLine() + 1,
                         [&](size_t begin, size_t end) {
                           const size_t atATime = columnsAtATime(geometry_.channels);
                           for (size_t j = 0; j < columns; j += atATime) {
                             resizeColumns(images, begin, end, j, std::min(atATime, columns - j),
                                           output);
                           }
                         });
    return okStatus();
  }

 private:
  // Elements of a line that are made at a time: their inputs stay in the first-level cache.
  static constexpr size_t kElementsAtATime = 1024;
  static size_t columnsAtATime(size_t channels) {
    return std::max<size_t>(1, kElementsAtATime / channels);
  }
  // Of the cells of two lines, on the left and on the right, and their weights.
  static size_t bytesOfColumns(size_t count, size_t channels) {
    return 5 * count * channels * sizeof(float);
  }

  // `count` columns from `first` on of lines [begin, end).
  void resizeColumns(const T* images, size_t begin, size_t end, size_t first, size_t count,
                     T* output) const {
    const Geometry& g = geometry_;
    const size_t elements = count * g.channels;
    auto* const buffer = reinterpret_cast<float*>(threadBuffer(bytesOfColumns(count, g.channels)));
    float* const rightWeights = buffer + 4 * elements;
    for (size_t j = 0; j < count; ++j) {
      std::fill_n(rightWeights + j * g.channels, g.channels, g.columns[first + j].weight);
    }
    // The lines that were read last: the next line of the output mostly needs the same.
    SpreadLine spread[2] = {{SIZE_MAX, buffer, buffer + elements},
                            {SIZE_MAX, buffer + 2 * elements, buffer + 3 * elements}};
    const Columns columns = {&g.columns[first], count, g.channels};
    const auto place = [&](size_t line, size_t other) {
      if (spread[0].line == line) return &spread[0];
      if (spread[1].line == line) return &spread[1];
      SpreadLine* const free = spread[0].line == other ? &spread[1] : &spread[0];
      free->line = line;
      ops::runBest<&spreadLine<T>>(images + line * g.inputLine(), &columns, free);
      return free;
    };
    for (size_t i = begin; i < end; ++i) {
      const Source& line = g.lines[i % g.lines.size()];
      const size_t image = g.firstLine(i);
      const SpreadLine* const top = place(image + line.low, image + line.high);
      const SpreadLine* const bottom = place(image + line.high, image + line.low);
      const Blend blend = {top, bottom, line.weight, rightWeights, elements};
      blend_(&blend, output + i * g.outputLine() + first * g.channels);
    }
  }

  const Geometry geometry_;
  void (*blend_)(const Blend*, T*) = ops::runBest<&blendBytes<T>, const Blend*, T*>;
};

template <typename T>
std::unique_ptr<Kernel> makeQuant8Resize(const KernelSite& site, const Mode& mode) {
  using Quant8 = Quant8ResizeKernel<T>;
  if (Quant8::bytesOfThread(site.inputs[0].dims[3]) > kMostBytesOfThread) return nullptr;
  return std::make_unique<Quant8>(site, mode);
}

}  // namespace

std::unique_ptr<Kernel> makeResizeBilinear(const KernelSite& site) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  bool nchw = false;
  Mode mode;
  if (!context.readOptional(3, &nchw).ok() || nchw ||
      !context.readOptional(4, &mode.alignCorners).ok() ||
      !context.readOptional(5, &mode.halfPixelCenters).ok()) {
    return nullptr;
  }
  const Shape& from = site.inputs[0].dims;
  const Shape& to = site.outputs[0].dims;
  if (to[1] > kMostPositions || to[2] > kMostPositions) return nullptr;
  switch (site.inputs[0].type) {
    case OperandType::TENSOR_FLOAT32:
      // Where a small part of the input's columns is needed, blending all of them is a waste.
      if (to[2] < from[2] / 2) return nullptr;
      if (ResizeKernel::bytesOfThread(from[2], from[3]) > kMostBytesOfThread) return nullptr;
      return std::make_unique<ResizeKernel>(site, mode);
    case OperandType::TENSOR_QUANT8_ASYMM:
      return makeQuant8Resize<uint8_t>(site, mode);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return makeQuant8Resize<int8_t>(site, mode);
    default:
      return nullptr;
  }
}

}  // namespace halyard::cpudriver

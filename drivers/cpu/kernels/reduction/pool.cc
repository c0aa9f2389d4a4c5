// Average and maximum pooling.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/makers.h"
#include "kernels/vectors/aligned_buffer.h"
#include "ops/activation.h"
#include "ops/conv_geometry.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kWorkPerRange = 1 << 16;
constexpr size_t kStrip = 256;  // channels that are pooled at a time

struct PoolSite {
  ops::ImageDims input;
  ops::ImageDims output;
  ops::Window window;
  ops::FuseCode activation = ops::FuseCode::NONE;
};

bool readPool(const KernelSite& site, PoolSite* pool) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  ops::WindowOptions options;
  size_t next = 1;
  int32_t filterWidth = 0;
  int32_t filterHeight = 0;
  bool nchw = false;
  if (!ops::readPaddingAndStrides(context, ops::hasExplicitPadding(context, 7), &next, &options)
           .ok() ||
      !context.read(next, &filterWidth).ok() || !context.read(next + 1, &filterHeight).ok() ||
      !ops::readFuseCode(context, next + 2, &pool->activation).ok() ||
      !ops::readLayoutAndDilations(context, next + 3, /*dilated=*/false, &nchw, &options).ok() ||
      nchw || !ops::readImageDims("input", site.inputs[0].dims, false, &pool->input).ok() ||
      !ops::resolveWindow(options, pool->input, filterHeight, filterWidth, &pool->window).ok()) {
    return false;
  }
  pool->output = {pool->input.batch, static_cast<size_t>(pool->window.height.output),
                  static_cast<size_t>(pool->window.width.output), pool->input.channels};
  return true;
}

// The cells under the window, of `channels` channels.
template <typename T>
struct Cells {
  const T* first;
  size_t lines;
  size_t columns;
  size_t lineStep;    // elements
  size_t columnStep;  // elements
  size_t channels;    // at most kStrip
};

struct MaxPool {
  ops::ClampRange<float> range;

  HALYARD_ALWAYS_INLINE void operator()(const Cells<float>& cells, float* __restrict to) const {
    float largest[kStrip];
    for (size_t c = 0; c < cells.channels; ++c) largest[c] = cells.first[c];
    for (size_t y = 0; y < cells.lines; ++y) {
      for (size_t x = 0; x < cells.columns; ++x) {
        const float* const cell = cells.first + y * cells.lineStep + x * cells.columnStep;
        for (size_t c = 0; c < cells.channels; ++c) {
          largest[c] = cell[c] > largest[c] ? cell[c] : largest[c];
        }
      }
    }
    for (size_t c = 0; c < cells.channels; ++c) to[c] = ops::clampTo(largest[c], range);
  }
};

// Bytes are averaged as the reference kernel does it: to nearest, ties away from 0.
template <typename T>
struct AveragePool {
  using Sum = std::conditional_t<std::is_same_v<T, float>, float, int32_t>;
  ops::ClampRange<Sum> range;

  HALYARD_ALWAYS_INLINE void operator()(const Cells<T>& cells, T* __restrict to) const {
    Sum sums[kStrip];
    for (size_t c = 0; c < cells.channels; ++c) sums[c] = 0;
    for (size_t y = 0; y < cells.lines; ++y) {
      for (size_t x = 0; x < cells.columns; ++x) {
        const T* const cell = cells.first + y * cells.lineStep + x * cells.columnStep;
        for (size_t c = 0; c < cells.channels; ++c) sums[c] += static_cast<Sum>(cell[c]);
      }
    }
    const auto count = static_cast<int32_t>(cells.lines * cells.columns);
    for (size_t c = 0; c < cells.channels; ++c) {
      Sum mean;
      if constexpr (std::is_same_v<T, float>) {
        mean = sums[c] / static_cast<float>(count);
      } else {
        const double average = static_cast<double>(sums[c]) / count;
        mean = static_cast<int32_t>(average + __builtin_copysign(0x1.fffffffffffffp-2, average));
      }
      const Sum raised = mean < range.min ? range.min : mean;
      to[c] = static_cast<T>(raised > range.max ? range.max : raised);
    }
  }
};

template <typename T, typename Pool>
HALYARD_ALWAYS_INLINE void runPool(const Pool* pool, const Cells<T>* cells, T* to) {
  const Pool function = *pool;
  const Cells<T> copy = *cells;
  function(copy, to);
}

template <typename T, typename Pool>
class PoolKernel final : public Kernel {
 public:
  PoolKernel(const PoolSite& site, const Pool& pool) : site_(site), pool_(pool) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const images = operands.input<T>(0);
    auto* const output = operands.output<T>(0);
    const size_t strips = (site_.input.channels + kStrip - 1) / kStrip;
    const auto window = static_cast<size_t>(site_.window.height.filter * site_.window.width.filter);
    const size_t work =
        std::max<size_t>(window * site_.output.width * std::min(site_.input.channels, kStrip), 1);
    services.parallelFor(site_.output.batch * site_.output.height * strips,
                         kWorkPerRange / work + 1, [&](size_t begin, size_t end) {
                           for (size_t i = begin; i < end; ++i) {
                             runLine(images, i / strips, i % strips * kStrip, output);
                           }
                         });
    return okStatus();
  }

 private:
  // Channels from `channel` on of line `line` of the output, through all images.
  void runLine(const T* images, size_t line, size_t channel, T* output) const {
    const ops::WindowAxis& height = site_.window.height;
    const ops::WindowAxis& width = site_.window.width;
    const size_t channels = site_.input.channels;
    const size_t lineStep = site_.input.width * channels;
    const int64_t top = height.origin(static_cast<int64_t>(line % site_.output.height));
    const ops::TapRange rows = ops::tapsInside(height, top);
    const T* const image =
        images + line / site_.output.height * site_.input.height * lineStep + channel;
    for (int64_t j = 0; j < width.output; ++j) {
      const int64_t left = width.origin(j);
      const ops::TapRange columns = ops::tapsInside(width, left);
      const Cells<T> cells = {image + static_cast<size_t>(top + rows.begin) * lineStep +
                                  static_cast<size_t>(left + columns.begin) * channels,
                              static_cast<size_t>(rows.end - rows.begin),
                              static_cast<size_t>(columns.end - columns.begin),
                              lineStep,
                              channels,
                              std::min(kStrip, channels - channel)};
      T* const to =
          output + (line * site_.output.width + static_cast<size_t>(j)) * channels + channel;
      ops::runBest<&runPool<T, Pool>>(&pool_, &cells, to);
    }
  }

  const PoolSite site_;
  const Pool pool_;
};

template <typename T, typename Sum>
std::unique_ptr<Kernel> makeAverage(const PoolSite& pool, const ops::ClampRange<Sum>& range) {
  constexpr size_t kMostCells = 1 << 23;  // that int32 can add up
  if (pool.input.height > kMostCells / pool.input.width) return nullptr;
  return std::make_unique<PoolKernel<T, AveragePool<T>>>(pool, AveragePool<T>{range});
}

}  // namespace

std::unique_ptr<Kernel> makeAveragePool(const KernelSite& site) {
  PoolSite pool;
  if (!readPool(site, &pool)) return nullptr;
  switch (site.inputs[0].type) {
    case OperandType::TENSOR_FLOAT32:
      return makeAverage<float>(pool, ops::activationRange(pool.activation));
    case OperandType::TENSOR_QUANT8_ASYMM:
      return makeAverage<uint8_t>(pool, ops::activationRange(pool.activation, site.outputs[0]));
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return makeAverage<int8_t>(pool, ops::activationRange(pool.activation, site.outputs[0]));
    default:
      return nullptr;
  }
}

// Of bytes, the reference kernel is faster than these loops.
std::unique_ptr<Kernel> makeMaxPool(const KernelSite& site) {
  PoolSite pool;
  if (site.inputs[0].type != OperandType::TENSOR_FLOAT32 || !readPool(site, &pool)) return nullptr;
  const ops::ClampRange<float> range = ops::activationRange(pool.activation);
  return std::make_unique<PoolKernel<float, MaxPool>>(pool, MaxPool{range});
}

}  // namespace halyard::cpudriver

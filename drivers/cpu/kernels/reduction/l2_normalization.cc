// L2 normalisation: lines whose elements lie side by side, or some neighbouring lines at once.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/makers.h"
#include "kernels/vectors/even_pieces.h"
#include "ops/axis_lines.h"
#include "ops/elementwise.h"
#include "ops/requantize.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kLanes = 16;

struct Rounding {
  int32_t zeroPoint = 0;  // of the input
  double scale = 0;       // of the output
  int32_t outputZeroPoint = 0;
  ops::ClampRange<int32_t> range = {0, 0};
};

// Elements are [count][lanes], rows `step` elements apart. Each lane is a line of its own; or all
// kLanes are parts of one line, which has some more elements behind them.
template <typename T>
struct Lines {
  const T* from;
  T* to;
  size_t count;
  size_t lanes;  // at most kLanes
  size_t step;
  size_t more;  // elements behind, if the lanes are parts of one line
  bool areOne;
  Rounding rounding;
};

// The type of the sum of squares: exact for bytes.
template <typename T>
using SumOf = std::conditional_t<std::is_same_v<T, float>, double, int32_t>;
// Longer lines of bytes might not fit.
constexpr size_t kMostBytes = INT32_MAX / (255 * 255);

template <typename T>
HALYARD_ALWAYS_INLINE SumOf<T> elementOf(const Lines<T>& lines, T x) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<double>(x);
  } else {
    return x - lines.rounding.zeroPoint;
  }
}

// The factor for elements of a line with this sum of squares. For bytes it is computed as in the
// reference kernel.
template <typename T>
HALYARD_ALWAYS_INLINE double factorOf(const Lines<T>& lines, SumOf<T> squares) {
  if constexpr (std::is_same_v<T, float>) {
    constexpr double kLeastLength = 1e-6;
    return 1 / std::max(std::sqrt(squares), kLeastLength);
  } else {
    const double length = squares == 0 ? 1 : std::sqrt(static_cast<double>(squares));
    return 1 / (length * lines.rounding.scale);
  }
}

template <typename T>
HALYARD_ALWAYS_INLINE T normalized(const Lines<T>& lines, T x, double factor) {
  const double value = static_cast<double>(elementOf(lines, x)) * factor;
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(value);
  } else {
    return static_cast<T>(
        ops::quantizeUnits(value, lines.rounding.outputZeroPoint, lines.rounding.range));
  }
}

// kWidth: how many lanes there are; 0 stands for lines.lanes.
template <typename T, size_t kWidth>
HALYARD_ALWAYS_INLINE void normalizeAll(const Lines<T>& given) {
  const Lines<T> lines = given;  // which no byte that is written can change
  const size_t width = kWidth == 0 ? lines.lanes : kWidth;
  const T* const more = lines.from + lines.count * lines.step;
  SumOf<T> squares[kLanes] = {};
  for (size_t i = 0; i < lines.count; ++i) {
    const T* const x = lines.from + i * lines.step;
    for (size_t lane = 0; lane < width; ++lane) {
      const SumOf<T> element = elementOf(lines, x[lane]);
      squares[lane] += element * element;
    }
  }
  if (lines.areOne) {
    for (size_t i = 0; i < lines.more; ++i) {
      const SumOf<T> element = elementOf(lines, more[i]);
      squares[0] += element * element;
    }
    for (size_t lane = 1; lane < kLanes; ++lane) squares[0] += squares[lane];
  }
  double factors[kLanes];
  if (lines.areOne) {
    std::fill_n(factors, kLanes, factorOf(lines, squares[0]));
  } else {
    for (size_t lane = 0; lane < kLanes; ++lane) factors[lane] = factorOf(lines, squares[lane]);
  }
  for (size_t i = 0; i < lines.count; ++i) {
    const T* const x = lines.from + i * lines.step;
    T* __restrict const y = lines.to + i * lines.step;
    for (size_t lane = 0; lane < width; ++lane) y[lane] = normalized(lines, x[lane], factors[lane]);
  }
  T* const to = lines.to + lines.count * lines.step;
  for (size_t i = 0; i < lines.more; ++i) to[i] = normalized(lines, more[i], factors[0]);
}

template <typename T>
HALYARD_ALWAYS_INLINE void normalizeLines(const Lines<T>* lines) {
  if (lines->lanes == kLanes) return normalizeAll<T, kLanes>(*lines);
  normalizeAll<T, 0>(*lines);
}

#if defined(__x86_64__)
template <typename T>
HALYARD_TARGET_AVX512 void normalizeLinesAvx512(const Lines<T>* lines) {
  normalizeLines(lines);
}
#endif

template <typename T>
class L2NormalizationKernel final : public Kernel {
 public:
  L2NormalizationKernel(const KernelSite& site, const ops::AxisView& view) : view_(view) {
    const ops::Tensor& output = site.outputs[0];
    rounding_ = {site.inputs[0].zeroPoint, static_cast<double>(output.scale), output.zeroPoint,
                 ops::quantizedRange(output.type)};
#if defined(__x86_64__)
    if (site.level >= ops::SimdLevel::AVX512) normalize_ = normalizeLinesAvx512<T>;
#endif
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const from = operands.input<T>(0);
    auto* const to = operands.output<T>(0);
    const size_t extent = view_.extent;
    const size_t strips = divideUp(view_.inner, kLanes);
    const size_t width = std::min(view_.inner, kLanes);
    services.parallelFor(
        view_.outer * strips, ops::kElementGrain / (extent * width) + 1,
        [&](size_t begin, size_t end) {
          for (size_t i = begin; i < end; ++i) {
            const size_t first = i % strips * kLanes;
            const size_t at = i / strips * extent * view_.inner + first;
            Lines<T> lines = {from + at,   to + at, extent, std::min(kLanes, view_.inner - first),
                              view_.inner, 0,       false,  rounding_};
            if (view_.inner == 1) {
              lines.count = extent / kLanes;
              lines.lanes = kLanes;
              lines.step = kLanes;
              lines.more = extent % kLanes;
              lines.areOne = true;
            }
            normalize_(&lines);
          }
        });
    return okStatus();
  }

 private:
  const ops::AxisView view_;
  Rounding rounding_;
  void (*normalize_)(const Lines<T>*) = ops::runBest<&normalizeLines<T>, const Lines<T>*>;
};

}  // namespace

std::unique_ptr<Kernel> makeL2Normalization(const KernelSite& site) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  size_t axis = 0;
  if (!ops::readOptionalAxis(context, 1, &axis).ok()) return nullptr;
  const ops::AxisView view = ops::axisView(site.inputs[0].dims, axis);
  switch (site.inputs[0].type) {
    case OperandType::TENSOR_FLOAT32:
      return std::make_unique<L2NormalizationKernel<float>>(site, view);
    case OperandType::TENSOR_QUANT8_ASYMM:
      if (view.extent > kMostBytes) return nullptr;
      return std::make_unique<L2NormalizationKernel<uint8_t>>(site, view);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      if (view.extent > kMostBytes) return nullptr;
      return std::make_unique<L2NormalizationKernel<int8_t>>(site, view);
    default:
      return nullptr;
  }
}

}  // namespace halyard::cpudriver

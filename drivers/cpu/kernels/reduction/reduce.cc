// Reductions along rows, or of whole rows into one.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/makers.h"
#include "ops/reduction.h"
#include "ops/requantize.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

// The functions that the loops call: as in ops::reduceGroups, for loops that are compiled for the
// instruction set of their caller.
template <typename S>
struct Sum {
  using State = S;
  static constexpr S kIdentity = 0;
  HALYARD_ALWAYS_INLINE static S merge(S a, S b) { return a + b; }
};
struct Max {
  using State = float;
  static constexpr float kIdentity = std::numeric_limits<float>::lowest();
  HALYARD_ALWAYS_INLINE static float merge(float a, float b) { return b > a ? b : a; }
};
struct Min {
  using State = float;
  static constexpr float kIdentity = std::numeric_limits<float>::max();
  HALYARD_ALWAYS_INLINE static float merge(float a, float b) { return b < a ? b : a; }
};

template <typename Reducer, typename T>
HALYARD_ALWAYS_INLINE void reduceRows(const T* x, size_t rows, size_t count,
                                      typename Reducer::State* results) {
  using State = typename Reducer::State;
  constexpr size_t kLanes = 32;
  for (size_t row = 0; row < rows; ++row, x += count) {
    State lanes[kLanes];
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = Reducer::kIdentity;
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = Reducer::merge(lanes[lane], static_cast<State>(x[i + lane]));
      }
    }
    for (; i < count; ++i) lanes[0] = Reducer::merge(lanes[0], static_cast<State>(x[i]));
    for (size_t half = kLanes / 2; half > 0; half /= 2) {
      for (size_t lane = 0; lane < half; ++lane) {
        lanes[lane] = Reducer::merge(lanes[lane], lanes[lane + half]);
      }
    }
    results[row] = lanes[0];
  }
}

// results[c] = all of x[row * stride + c]
template <typename Reducer, typename T>
HALYARD_ALWAYS_INLINE void reduceColumns(const T* x, size_t rows, size_t stride, size_t columns,
                                         typename Reducer::State* __restrict results) {
  for (size_t c = 0; c < columns; ++c) results[c] = Reducer::kIdentity;
  for (size_t row = 0; row < rows; ++row, x += stride) {
    for (size_t c = 0; c < columns; ++c) {
      results[c] = Reducer::merge(results[c], static_cast<typename Reducer::State>(x[c]));
    }
  }
}

// [outer][extent][inner], of which `extent` is reduced.
struct Reduction {
  size_t outer;
  size_t extent;
  size_t inner;
};

// Whether the reduced dimensions are neighbours, except for those of size 1.
bool readReduction(const KernelSite& site, Reduction* reduction) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  std::vector<ops::DimGroup> groups;
  if (!site.isConstant(1) || !ops::planReduction(context, &groups).ok()) return false;
  *reduction = {1, 1, 1};
  bool isBehind = false;
  for (const ops::DimGroup& group : groups) {
    if (group.outputStride == 0) {
      if (isBehind) return false;
      reduction->extent = group.extent;
      isBehind = true;
    } else {
      (isBehind ? reduction->inner : reduction->outer) *= group.extent;
    }
  }
  return isBehind;
}

// `Finish` makes an element of a state.
template <typename Reducer, typename T, typename Finish>
class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(const Reduction& reduction, Finish finish)
      : reduction_(reduction), finish_(finish) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const from = operands.input<T>(0);
    auto* const to = operands.output<T>(0);
    const size_t pieces = (reduction_.inner + kMostColumns - 1) / kMostColumns;
    const size_t each = reduction_.extent * std::min(reduction_.inner, kMostColumns);
    services.parallelFor(reduction_.outer * pieces, ops::kElementGrain / each + 1,
                         [&](size_t begin, size_t end) {
                           if (reduction_.inner == 1) return runRows(from, begin, end, to);
                           for (size_t i = begin; i < end; ++i) {
                             runColumns(from, i / pieces, i % pieces * kMostColumns, to);
                           }
                         });
    return okStatus();
  }

 private:
  using State = typename Reducer::State;
  static constexpr size_t kMostColumns = 512;

  void runRows(const T* from, size_t begin, size_t end, T* to) const {
    State states[kMostColumns];
    for (size_t row = begin; row < end; row += kMostColumns) {
      const size_t rows = std::min(kMostColumns, end - row);
      ops::runBest<&reduceRows<Reducer, T>>(from + row * reduction_.extent, rows, reduction_.extent,
                                            &states[0]);
      for (size_t i = 0; i < rows; ++i) to[row + i] = finish_(states[i]);
    }
  }

  void runColumns(const T* from, size_t outer, size_t column, T* to) const {
    State states[kMostColumns];
    const size_t columns = std::min(kMostColumns, reduction_.inner - column);
    ops::runBest<&reduceColumns<Reducer, T>>(
        from + outer * reduction_.extent * reduction_.inner + column, reduction_.extent,
        reduction_.inner, columns, &states[0]);
    T* const results = to + outer * reduction_.inner + column;
    for (size_t i = 0; i < columns; ++i) results[i] = finish_(states[i]);
  }

  const Reduction reduction_;
  const Finish finish_;
};

template <typename Reducer, typename T, typename Finish>
std::unique_ptr<Kernel> makeReduce(const KernelSite& site, Finish finish) {
  Reduction reduction;
  if (!readReduction(site, &reduction)) return nullptr;
  return std::make_unique<ReduceKernel<Reducer, T, Finish>>(reduction, finish);
}

template <typename Reducer>
std::unique_ptr<Kernel> makeExtreme(const KernelSite& site) {
  if (site.inputs[0].type != OperandType::TENSOR_FLOAT32) return nullptr;
  return makeReduce<Reducer, float>(site, [](float x) { return x; });
}

// Of 8 bit values: as the reference kernel rounds.
template <typename T>
std::unique_ptr<Kernel> makeQuant8Mean(const KernelSite& site, double count) {
  constexpr double kMostTerms = 1 << 23;  // that int32 can add up
  if (count > kMostTerms) return nullptr;
  const ops::ClampRange<int32_t> range = ops::quantizedRange(site.outputs[0].type);
  return makeReduce<Sum<int32_t>, T>(site, [count, range](int32_t sum) {
    return static_cast<T>(ops::quantizeUnits(static_cast<double>(sum) / count, 0, range));
  });
}

}  // namespace

std::unique_ptr<Kernel> makeReduceMax(const KernelSite& site) { return makeExtreme<Max>(site); }

std::unique_ptr<Kernel> makeReduceMin(const KernelSite& site) { return makeExtreme<Min>(site); }

std::unique_ptr<Kernel> makeReduceSum(const KernelSite& site) {
  if (site.inputs[0].type != OperandType::TENSOR_FLOAT32) return nullptr;
  return makeReduce<Sum<double>, float>(site, [](double sum) { return static_cast<float>(sum); });
}

std::unique_ptr<Kernel> makeMean(const KernelSite& site) {
  const double count = static_cast<double>(site.inputs[0].elementCount()) /
                       static_cast<double>(site.outputs[0].elementCount());
  switch (site.inputs[0].type) {
    case OperandType::TENSOR_FLOAT32:
      return makeReduce<Sum<double>, float>(
          site, [count](double sum) { return static_cast<float>(sum / count); });
    case OperandType::TENSOR_QUANT8_ASYMM:
      return makeQuant8Mean<uint8_t>(site, count);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return makeQuant8Mean<int8_t>(site, count);
    default:
      return nullptr;
  }
}

}  // namespace halyard::cpudriver

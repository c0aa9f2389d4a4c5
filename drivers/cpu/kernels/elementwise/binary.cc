// Sums, differences, products, quotients and extremes of two tensors, element by element, and what
// multiplies negative elements only.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/makers.h"
#include "kernels/vectors/quant8_sum.h"
#include "ops/activation.h"
#include "ops/broadcast.h"
#include "ops/elementwise.h"

namespace halyard::cpudriver {
namespace {

// A piece of a row: element i of the result is of a[i * strideA] and b[i * strideB]. A stride is 0
// or 1. Both are 0 only for a single element.
template <typename T>
struct Piece {
  const T* a;
  const T* b;
  T* out;
  size_t count;
  size_t strideA;
  size_t strideB;
};

// out = f(a, b) with loops that the compiler can vectorise. It must assume that a store of bytes
// changes `piece`, so the loops use copies.
template <typename T, typename F>
HALYARD_ALWAYS_INLINE void applyToPiece(const Piece<T>& piece, F f) {
  const T* const a = piece.a;
  const T* const b = piece.b;
  T* const out = piece.out;
  const size_t count = piece.count;
  if (piece.strideA == 1 && piece.strideB == 1) {
    for (size_t i = 0; i < count; ++i) out[i] = f(a[i], b[i]);
  } else if (piece.strideA == 1) {
    const T y = *b;
    for (size_t i = 0; i < count; ++i) out[i] = f(a[i], y);
  } else {
    const T x = *a;
    for (size_t i = 0; i < count; ++i) out[i] = f(x, b[i]);
  }
}

struct FloatSum {
  float signB;
  ops::ClampRange<float> range;

  using Element = float;
  HALYARD_ALWAYS_INLINE float operator()(float a, float b) const {
    return ops::clampTo(a + signB * b, range);
  }
};

struct FloatProduct {
  ops::ClampRange<float> range;

  using Element = float;
  HALYARD_ALWAYS_INLINE float operator()(float a, float b) const {
    return ops::clampTo(a * b, range);
  }
};

struct FloatQuotient {
  ops::ClampRange<float> range;

  using Element = float;
  HALYARD_ALWAYS_INLINE float operator()(float a, float b) const {
    return ops::clampTo(a / b, range);
  }
};

// NaN in either is the result.
template <bool kIsMax>
struct FloatExtreme {
  using Element = float;
  HALYARD_ALWAYS_INLINE float operator()(float a, float b) const {
    const bool wins = kIsMax ? a > b : a < b;
    return wins || std::isnan(a) ? a : b;
  }
};

template <typename T>
struct SumOfBytes {
  Quant8Sum sum;

  using Element = T;
  HALYARD_ALWAYS_INLINE T operator()(T a, T b) const { return sum.add(a, b); }
};

// Negative elements are multiplied by those of the other tensor.
struct FloatPrelu {
  using Element = float;
  HALYARD_ALWAYS_INLINE float operator()(float x, float slope) const {
    return x >= 0 ? x : slope * x;
  }
};

// The reference kernels' arithmetic in double, or in float where that gives the same: see isExact.
template <typename Real>
struct Quant8Rounding {
  int32_t zeroOut;
  Real low;  // of the result less the zero point
  Real high;

  HALYARD_ALWAYS_INLINE int32_t operator()(int32_t product, Real scale) const {
    const Real units = static_cast<Real>(product) * scale;
    const Real raised = units > low ? units : low;
    const Real limited = raised < high ? raised : high;
    // To nearest, ties away from zero. This is the largest number below one half, so that a
    // fraction below one half is not carried to the next whole number.
    constexpr Real kBelowHalf = Real{0.5} - std::numeric_limits<Real>::epsilon() / 4;
    return static_cast<int32_t>(limited + std::copysign(kBelowHalf, limited)) + zeroOut;
  }
};

template <typename T, typename Real>
struct Quant8Product {
  int32_t zeroA;
  int32_t zeroB;
  Real scale;
  Quant8Rounding<Real> rounded;

  using Element = T;
  HALYARD_ALWAYS_INLINE T operator()(T a, T b) const {
    return static_cast<T>(rounded((a - zeroA) * (b - zeroB), scale));
  }
};

template <typename T, typename Real>
struct Quant8Prelu {
  int32_t zeroX;
  int32_t zeroSlope;
  Real scale;       // of elements that stay
  Real slopeScale;  // of products with a slope
  Quant8Rounding<Real> rounded;

  using Element = T;
  HALYARD_ALWAYS_INLINE T operator()(T x, T slope) const {
    const int32_t stored = x - zeroX;
    const bool stays = stored >= 0;
    const int32_t factor = stays ? 1 : slope - zeroSlope;
    return static_cast<T>(rounded(stored * factor, stays ? scale : slopeScale));
  }
};

// Whether `rounded` with this scale equals the reference kernel, which rounds unitsOf(product), for
// all products of 8 bit values. Both results never fall when the product grows, and they are less
// than one product apart. So only the products around each change of the result need a test.
template <typename Real, typename F>
bool isExact(const Quant8Rounding<Real>& rounded, double scale,
             const ops::ClampRange<int32_t>& range, const F& unitsOf) {
  constexpr int32_t kLargest = 255 * 255;
  for (int32_t value = range.min; value <= range.max; ++value) {
    for (const double half : {-0.5, 0.5}) {
      const double around = (value - rounded.zeroOut + half) / scale;
      if (!(std::abs(around) <= kLargest)) continue;
      for (int32_t step = -2; step <= 2; ++step) {
        const int32_t p = std::clamp(static_cast<int32_t>(around) + step, -kLargest, kLargest);
        if (rounded(p, static_cast<Real>(scale)) !=
            ops::quantizeUnits(unitsOf(p), rounded.zeroOut, range)) {
          return false;
        }
      }
    }
  }
  return true;
}

template <typename F>
HALYARD_ALWAYS_INLINE void runPiece(const Piece<typename F::Element>* piece, const F* function) {
  applyToPiece(*piece, *function);  // a copy: see ops::applyToRange
}

// Runs `function` on a piece by the way that suits both best.
template <typename F>
void runBestPiece(const Piece<typename F::Element>& piece, const F& function,
                  [[maybe_unused]] ops::SimdLevel level) {
  using T = typename F::Element;
  if constexpr (std::is_same_v<F, SumOfBytes<T>>) {
    if (piece.strideA == 1 && piece.strideB == 1) {
      const auto bytes = [](const T* values) { return reinterpret_cast<const uint8_t*>(values); };
      return addQuant8(function.sum,
                       {bytes(piece.a), bytes(piece.b), reinterpret_cast<uint8_t*>(piece.out), 0, 1,
                        piece.count, std::is_signed_v<T>},
                       level);
    }
  }
  ops::runBest<&runPiece<F>>(&piece, &function);
}

// The most elements of a row of the second tensor that is copied several times in a row, so that
// loops have many steps.
constexpr size_t kMostRepeated = 256;
constexpr size_t kRepeatedElements = 2 * kMostRepeated;

// Whether each row of the first tensor meets the one short row of the second, as pixels meet a
// value for each channel.
bool repeatsShortRow(const ops::BroadcastPlan& plan) {
  return plan.outer.size() == 1 && plan.outer[0].strideA == plan.row.extent &&
         plan.outer[0].strideB == 0 && plan.row.strideA == 1 && plan.row.strideB == 1 &&
         plan.row.extent <= kMostRepeated;
}

template <typename F>
class BinaryKernel final : public Kernel {
  using T = typename F::Element;

 public:
  BinaryKernel(const KernelSite& site, F function)
      : plan_(ops::planBroadcast(site.inputs[0].dims, site.inputs[1].dims, site.outputs[0].dims)),
        repeatsShortRow_(repeatsShortRow(plan_)),
        count_(site.outputs[0].elementCount()),
        level_(site.level),
        function_(function) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    services.parallelFor(count_, ops::kElementGrain, [&](size_t begin, size_t end) {
      if (repeatsShortRow_) return runRepeated(operands, begin, end);
      ops::forEachBroadcastRow(
          plan_, begin, end, [&](size_t a, size_t b, size_t out, size_t length) {
            const Piece<T> piece = {operands.input<T>(0) + a,    operands.input<T>(1) + b,
                                    operands.output<T>(0) + out, length,
                                    plan_.row.strideA,           plan_.row.strideB};
            runBestPiece(piece, function_, level_);
          });
    });
    return okStatus();
  }

 private:
  // Elements [begin, end) with whole copies of the second tensor's row.
  void runRepeated(const KernelOperands& operands, size_t begin, size_t end) const {
    const size_t extent = plan_.row.extent;
    const size_t copies = kRepeatedElements / extent;
    T row[kRepeatedElements];
    for (size_t i = 0; i < copies; ++i) {
      std::copy_n(operands.input<T>(1), extent, row + i * extent);
    }
    size_t within = begin % extent;
    while (begin < end) {
      const size_t length = std::min(copies * extent - within, end - begin);
      runBestPiece(
          {operands.input<T>(0) + begin, row + within, operands.output<T>(0) + begin, length, 1, 1},
          function_, level_);
      begin += length;
      within = 0;
    }
  }

  const ops::BroadcastPlan plan_;
  const bool repeatsShortRow_;
  const size_t count_;
  const ops::SimdLevel level_;
  const F function_;
};

template <typename T>
std::unique_ptr<Kernel> makeQuant8Sum(const KernelSite& site, ops::FuseCode code, int32_t sign) {
  const auto sum = quant8SumOf(quantizationOf(site.inputs[0]), quantizationOf(site.inputs[1]),
                               site.outputs[0], code, sign);
  if (!sum) return nullptr;
  return std::make_unique<BinaryKernel<SumOfBytes<T>>>(site, SumOfBytes<T>{*sum});
}

template <typename Real>
Quant8Rounding<Real> roundingFor(const ops::Tensor& out, const ops::ClampRange<int32_t>& range) {
  return {out.zeroPoint, static_cast<Real>(range.min - out.zeroPoint),
          static_cast<Real>(range.max - out.zeroPoint)};
}

// Null where numbers of this kind do not give what the reference kernel does.
template <typename T, typename Real>
std::unique_ptr<Kernel> makeExactProduct(const KernelSite& site, ops::FuseCode code) {
  const ops::Tensor& a = site.inputs[0];
  const ops::Tensor& b = site.inputs[1];
  const ops::Tensor& out = site.outputs[0];
  const double scale = double{a.scale} * double{b.scale} / double{out.scale};
  const ops::ClampRange<int32_t> range = ops::activationRange(code, out);
  const auto rounded = roundingFor<Real>(out, range);
  const auto unitsOf = [&](int32_t product) { return product * scale; };
  // The scale is below 1 in any model, and far from where floats lose digits in all sensible ones.
  if (!(scale > 0x1p-30 && scale < 2) || !isExact(rounded, scale, range, unitsOf)) return nullptr;
  using Product = Quant8Product<T, Real>;
  return std::make_unique<BinaryKernel<Product>>(
      site, Product{a.zeroPoint, b.zeroPoint, static_cast<Real>(scale), rounded});
}

template <typename T>
std::unique_ptr<Kernel> makeQuant8Product(const KernelSite& site, ops::FuseCode code) {
  std::unique_ptr<Kernel> kernel = makeExactProduct<T, float>(site, code);
  return kernel != nullptr ? std::move(kernel) : makeExactProduct<T, double>(site, code);
}

// The same for PRELU.
template <typename T, typename Real>
std::unique_ptr<Kernel> makeExactPrelu(const KernelSite& site) {
  const ops::Tensor& x = site.inputs[0];
  const ops::Tensor& slope = site.inputs[1];
  const ops::Tensor& out = site.outputs[0];
  const ops::ClampRange<int32_t> range = ops::quantizedRange(out.type);
  const auto rounded = roundingFor<Real>(out, range);
  const auto fits = [&](double scale) {
    const double scaleOut = out.scale;
    const auto unitsOf = [&](int32_t product) { return product * scale / scaleOut; };
    const double ratio = scale / scaleOut;
    return ratio > 0x1p-30 && ratio < 0x1p8 && isExact(rounded, ratio, range, unitsOf);
  };
  const double scale = x.scale;
  const double slopeScale = double{x.scale} * double{slope.scale};
  if (!fits(scale) || !fits(slopeScale)) return nullptr;
  using Prelu = Quant8Prelu<T, Real>;
  return std::make_unique<BinaryKernel<Prelu>>(
      site, Prelu{x.zeroPoint, slope.zeroPoint, static_cast<Real>(scale / out.scale),
                  static_cast<Real>(slopeScale / out.scale), rounded});
}

template <typename T>
std::unique_ptr<Kernel> makeQuant8Prelu(const KernelSite& site) {
  std::unique_ptr<Kernel> kernel = makeExactPrelu<T, float>(site);
  return kernel != nullptr ? std::move(kernel) : makeExactPrelu<T, double>(site);
}

// Whether the site has three inputs, the last a constant activation, and tensors of one type.
bool readBinary(const KernelSite& site, ops::FuseCode* code) {
  if (site.inputs[0].type != site.inputs[1].type || site.inputs[0].type != site.outputs[0].type) {
    return false;
  }
  const ops::OperationContext context(site.inputs, {}, nullptr);
  return site.isConstant(2) && ops::readFuseCode(context, 2, code).ok() &&
         site.fuseActivation(code);
}

std::unique_ptr<Kernel> makeSum(const KernelSite& site, int32_t sign) {
  ops::FuseCode code = ops::FuseCode::NONE;
  if (!readBinary(site, &code)) return nullptr;
  switch (site.inputs[0].type) {
    case OperandType::TENSOR_FLOAT32:
      return std::make_unique<BinaryKernel<FloatSum>>(
          site, FloatSum{static_cast<float>(sign), ops::activationRange(code)});
    case OperandType::TENSOR_QUANT8_ASYMM:
      return makeQuant8Sum<uint8_t>(site, code, sign);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return makeQuant8Sum<int8_t>(site, code, sign);
    default:
      return nullptr;
  }
}

template <bool kIsMax>
std::unique_ptr<Kernel> makeExtreme(const KernelSite& site) {
  if (site.inputs[0].type != OperandType::TENSOR_FLOAT32) return nullptr;
  return std::make_unique<BinaryKernel<FloatExtreme<kIsMax>>>(site, FloatExtreme<kIsMax>());
}

}  // namespace

std::unique_ptr<Kernel> makeAddition(const KernelSite& site) { return makeSum(site, 1); }

std::unique_ptr<Kernel> makeSubtraction(const KernelSite& site) { return makeSum(site, -1); }

std::unique_ptr<Kernel> makeMultiplication(const KernelSite& site) {
  ops::FuseCode code = ops::FuseCode::NONE;
  if (!readBinary(site, &code)) return nullptr;
  switch (site.inputs[0].type) {
    case OperandType::TENSOR_FLOAT32:
      return std::make_unique<BinaryKernel<FloatProduct>>(site,
                                                          FloatProduct{ops::activationRange(code)});
    case OperandType::TENSOR_QUANT8_ASYMM:
      return makeQuant8Product<uint8_t>(site, code);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return makeQuant8Product<int8_t>(site, code);
    default:
      return nullptr;
  }
}

std::unique_ptr<Kernel> makeDivision(const KernelSite& site) {
  ops::FuseCode code = ops::FuseCode::NONE;
  if (!readBinary(site, &code) || site.inputs[0].type != OperandType::TENSOR_FLOAT32) {
    return nullptr;
  }
  return std::make_unique<BinaryKernel<FloatQuotient>>(site,
                                                       FloatQuotient{ops::activationRange(code)});
}

std::unique_ptr<Kernel> makePrelu(const KernelSite& site) {
  switch (site.inputs[0].type) {
    case OperandType::TENSOR_FLOAT32:
      return std::make_unique<BinaryKernel<FloatPrelu>>(site, FloatPrelu());
    case OperandType::TENSOR_QUANT8_ASYMM:
      return makeQuant8Prelu<uint8_t>(site);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return makeQuant8Prelu<int8_t>(site);
    default:
      return nullptr;
  }
}

std::unique_ptr<Kernel> makeMaximum(const KernelSite& site) { return makeExtreme<true>(site); }

std::unique_ptr<Kernel> makeMinimum(const KernelSite& site) { return makeExtreme<false>(site); }

}  // namespace halyard::cpudriver

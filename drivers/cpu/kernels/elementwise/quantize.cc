// Between real numbers and 8 bits.
#include "kernels/makers.h"
#include "ops/elementwise.h"
#include "ops/requantize.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

struct Quantization {
  float scale;
  float low;  // bounds of the stored value, less the zero point
  float high;
  int32_t zeroPoint;
};

// As ops::quantizeUnits, in single precision: 0.5 less one unit in its last place rounds as it does
// for all values in range. NaN becomes the lowest value.
template <typename T>
HALYARD_ALWAYS_INLINE void quantizeAll(const float* from, T* to, size_t count,
                                       const Quantization* quantization) {
  const Quantization q = *quantization;
  for (size_t i = 0; i < count; ++i) {
    const float units = from[i] / q.scale;
    float limited = units > q.low ? units : q.low;
    limited = limited < q.high ? limited : q.high;
    const float adjusted = limited + __builtin_copysignf(0x1.fffffep-2f, limited);
    to[i] = static_cast<T>(static_cast<int32_t>(adjusted) + q.zeroPoint);
  }
}

template <typename T>
HALYARD_ALWAYS_INLINE void dequantizeAll(const T* from, float* to, size_t count, float scale,
                                         int32_t zeroPoint) {
  for (size_t i = 0; i < count; ++i) to[i] = scale * static_cast<float>(from[i] - zeroPoint);
}

template <typename T>
class QuantizeKernel final : public Kernel {
 public:
  QuantizeKernel(const ops::Tensor& output) : elements_(output.elementCount()) {
    const ops::ClampRange<int32_t> range = ops::quantizedRange(output.type);
    quantization_ = {output.scale, static_cast<float>(range.min - output.zeroPoint),
                     static_cast<float>(range.max - output.zeroPoint), output.zeroPoint};
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const from = operands.input<float>(0);
    auto* const to = operands.output<T>(0);
    services.parallelFor(elements_, ops::kElementGrain, [&](size_t begin, size_t end) {
      ops::runBest<&quantizeAll<T>>(from + begin, to + begin, end - begin, &quantization_);
    });
    return okStatus();
  }

 private:
  const size_t elements_;
  Quantization quantization_;
};

template <typename T>
class DequantizeKernel final : public Kernel {
 public:
  DequantizeKernel(const ops::Tensor& input, int32_t zeroPoint)
      : elements_(input.elementCount()), scale_(input.scale), zeroPoint_(zeroPoint) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const from = operands.input<T>(0);
    auto* const to = operands.output<float>(0);
    services.parallelFor(elements_, ops::kElementGrain, [&](size_t begin, size_t end) {
      ops::runBest<&dequantizeAll<T>>(from + begin, to + begin, end - begin, scale_, zeroPoint_);
    });
    return okStatus();
  }

 private:
  const size_t elements_;
  const float scale_;
  const int32_t zeroPoint_;
};

}  // namespace

std::unique_ptr<Kernel> makeQuantization(const KernelSite& site) {
  if (site.inputs[0].type != OperandType::TENSOR_FLOAT32) return nullptr;
  if (site.outputs[0].type == OperandType::TENSOR_QUANT8_ASYMM) {
    return std::make_unique<QuantizeKernel<uint8_t>>(site.outputs[0]);
  }
  return std::make_unique<QuantizeKernel<int8_t>>(site.outputs[0]);
}

std::unique_ptr<Kernel> makeDequantization(const KernelSite& site) {
  const ops::Tensor& input = site.inputs[0];
  if (site.outputs[0].type != OperandType::TENSOR_FLOAT32) return nullptr;
  switch (input.type) {
    case OperandType::TENSOR_QUANT8_ASYMM:
      return std::make_unique<DequantizeKernel<uint8_t>>(input, input.zeroPoint);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return std::make_unique<DequantizeKernel<int8_t>>(input, input.zeroPoint);
    default:
      return nullptr;
  }
}

}  // namespace halyard::cpudriver

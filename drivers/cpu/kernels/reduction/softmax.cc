// Softmax along the last dimension.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/makers.h"
#include "kernels/vectors/float_functions.h"
#include "kernels/vectors/softmax_row.h"
#include "ops/axis_lines.h"
#include "ops/elementwise.h"
#include "ops/requantize.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

struct Lines {
  size_t count;
  size_t extent;
};

class FloatSoftmaxKernel final : public Kernel {
 public:
  FloatSoftmaxKernel(const Lines& lines, float beta, ops::SimdLevel level)
      : lines_(lines), beta_(beta), functions_(floatFunctions(level)) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const from = operands.input<float>(0);
    auto* const to = operands.output<float>(0);
    services.parallelFor(lines_.count, ops::kElementGrain / lines_.extent + 1,
                         [&](size_t begin, size_t end) {
                           for (size_t line = begin; line < end; ++line) {
                             runLine(from + line * lines_.extent, to + line * lines_.extent);
                           }
                         });
    return okStatus();
  }

 private:
  void runLine(const float* from, float* to) const {
    const double sum = exponentialsOfRow(functions_, from, to, lines_.extent, beta_);
    functions_.scale(to, lines_.extent, static_cast<float>(1 / sum));
  }

  const Lines lines_;
  const float beta_;
  const FloatFunctions& functions_;
};

template <typename T>
class Quant8SoftmaxKernel final : public Kernel {
 public:
  Quant8SoftmaxKernel(const Lines& lines, float beta, const ops::Tensor& input,
                      const ops::Tensor& output)
      : lines_(lines), scale_(output.scale), zeroPoint_(output.zeroPoint), type_(output.type) {
    const double rate = -static_cast<double>(beta) * static_cast<double>(input.scale);
    for (size_t d = 0; d < table_.size(); ++d) table_[d] = std::exp(rate * static_cast<double>(d));
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const from = operands.input<T>(0);
    auto* const to = operands.output<T>(0);
    services.parallelFor(lines_.count, ops::kExponentialGrain / lines_.extent + 1,
                         [&](size_t begin, size_t end) {
                           for (size_t line = begin; line < end; ++line) {
                             runLine(from + line * lines_.extent, to + line * lines_.extent);
                           }
                         });
    return okStatus();
  }

 private:
  // The input may change meanwhile. For any input, a difference of bytes is within the table.
  void runLine(const T* from, T* to) const {
    T largest = from[0];
    for (size_t i = 1; i < lines_.extent; ++i) largest = std::max(largest, from[i]);
    double sum = 0;
    for (size_t i = 0; i < lines_.extent; ++i) sum += table_[distance(largest, from[i])];
    const double factor = 1 / (sum * static_cast<double>(scale_));
    const ops::ClampRange<int32_t> range = ops::quantizedRange(type_);
    for (size_t i = 0; i < lines_.extent; ++i) {
      const double units = table_[distance(largest, from[i])] * factor;
      to[i] = static_cast<T>(ops::quantizeUnits(units, zeroPoint_, range));
    }
  }
  static size_t distance(T largest, T value) { return static_cast<uint8_t>(largest - value); }

  const Lines lines_;
  const float scale_;
  const int32_t zeroPoint_;
  const OperandType type_;
  std::array<double, 256> table_;  // exp(-beta * scale * d) for every distance d
};

}  // namespace

std::unique_ptr<Kernel> makeSoftmax(const KernelSite& site) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  const ops::Tensor& input = site.inputs[0];
  float beta = 0;
  size_t axis = 0;
  if (!context.read(1, &beta).ok() || !ops::readOptionalAxis(context, 2, &axis).ok()) {
    return nullptr;
  }
  const ops::AxisView view = ops::axisView(input.dims, axis);
  if (view.inner != 1) return nullptr;
  const Lines lines = {view.outer, view.extent};
  switch (input.type) {
    case OperandType::TENSOR_FLOAT32:
      return std::make_unique<FloatSoftmaxKernel>(lines, beta, site.level);
    case OperandType::TENSOR_QUANT8_ASYMM:
      return std::make_unique<Quant8SoftmaxKernel<uint8_t>>(lines, beta, input, site.outputs[0]);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return std::make_unique<Quant8SoftmaxKernel<int8_t>>(lines, beta, input, site.outputs[0]);
    default:
      return nullptr;
  }
}

}  // namespace halyard::cpudriver

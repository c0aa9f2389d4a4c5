// Functions of one element.
#include "kernels/elementwise/byte_table.h"
#include "kernels/makers.h"
#include "kernels/vectors/float_functions.h"
#include "ops/activation.h"
#include "ops/elementwise.h"

namespace halyard::cpudriver {
namespace {

// f(from, to, count)
template <typename F>
class FloatUnaryKernel final : public Kernel {
 public:
  FloatUnaryKernel(size_t elements, F function) : elements_(elements), function_(function) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const from = operands.input<float>(0);
    auto* const to = operands.output<float>(0);
    services.parallelFor(elements_, ops::kElementGrain, [&](size_t begin, size_t end) {
      function_(from + begin, to + begin, end - begin);
    });
    return okStatus();
  }

 private:
  const size_t elements_;
  const F function_;
};

bool isFloat(const KernelSite& site) {
  return site.inputs[0].type == OperandType::TENSOR_FLOAT32 &&
         site.outputs[0].type == OperandType::TENSOR_FLOAT32;
}

template <typename F>
std::unique_ptr<Kernel> makeUnary(const KernelSite& site, F function) {
  const size_t elements = site.outputs[0].elementCount();
  if (isFloat(site)) return std::make_unique<FloatUnaryKernel<F>>(elements, function);
  const auto table = tableOf(site);
  return table ? makeTableKernel(*table, elements) : nullptr;
}

std::unique_ptr<Kernel> makeClamp(const KernelSite& site, ops::FuseCode code) {
  const auto clamp = floatFunctions(site.level).clamp;
  return makeUnary(
      site, [clamp, range = ops::activationRange(code)](
                const float* from, float* to, size_t count) { clamp(from, to, count, range); });
}

}  // namespace

std::unique_ptr<Kernel> makeFloor(const KernelSite& site) {
  return makeUnary(site, floatFunctions(site.level).floor);
}
std::unique_ptr<Kernel> makeGelu(const KernelSite& site) {
  const FloatFunctions& functions = floatFunctions(site.level);
  const ops::OperationContext context(site.inputs, {}, nullptr);
  bool isApproximate = false;
  if (!context.read(1, &isApproximate).ok()) return nullptr;
  return makeUnary(site, isApproximate ? functions.approximateGelu : functions.gelu);
}
std::unique_ptr<Kernel> makeHardSwish(const KernelSite& site) {
  return makeUnary(site, floatFunctions(site.level).hardSwish);
}
std::unique_ptr<Kernel> makeLogistic(const KernelSite& site) {
  return makeUnary(site, floatFunctions(site.level).sigmoid);
}
std::unique_ptr<Kernel> makeRelu(const KernelSite& site) {
  return makeClamp(site, ops::FuseCode::RELU);
}
std::unique_ptr<Kernel> makeRelu1(const KernelSite& site) {
  return makeClamp(site, ops::FuseCode::RELU1);
}
std::unique_ptr<Kernel> makeRelu6(const KernelSite& site) {
  return makeClamp(site, ops::FuseCode::RELU6);
}
std::unique_ptr<Kernel> makeTanh(const KernelSite& site) {
  return makeUnary(site, floatFunctions(site.level).tanh);
}

}  // namespace halyard::cpudriver

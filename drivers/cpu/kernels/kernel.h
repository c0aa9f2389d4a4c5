// KernelSite: an operation of a model as the makers of this driver's kernels see it.
// Thread safety: a site belongs to one thread.
// Ownership: a site borrows its members; a kernel borrows nothing of its site.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "cpu/kernel.h"
#include "kernels/packing.h"
#include "kernels/shared_parts.h"
#include "ops/activation.h"
#include "ops/operation.h"
#include "ops/rounding_steps.h"
#include "ops/simd.h"

namespace halyard::cpudriver {

using cpu::Kernel;
using cpu::KernelOperands;

// The real number of an 8 bit tensor's value: scale * (value - zeroPoint).
struct Quantization {
  float scale = 0;
  int32_t zeroPoint = 0;
};
inline Quantization quantizationOf(const ops::Tensor& tensor) {
  return {tensor.scale, tensor.zeroPoint};
}

// Values side by side that have one range: `extent` of them.
struct RoundedRows {
  ops::RoundingSteps steps;
  size_t extent = 0;
};

// A sum of 8 bit values: the type that the operation's own result is rounded to, with the
// operation's own activation, and the addend.
struct Quant8Terms {
  Quantization result;
  Quantization addend;
};

// The work of a kernel beside its operation. Only makers that kernel_list.cc marks for it get any
// of it.
struct Fused {
  // Takes the place of the operation's own activation, which must be none.
  std::optional<ops::FuseCode> activation;
  // Lines above and below and columns left and right of the image, of real zeros: the input of the
  // site is without them.
  std::array<int64_t, 4> padding{};
  // The run's last input, which the site does not have, is of the output's type and shape and added
  // to the result before the activation.
  bool addsInput = false;
  // With addsInput, in 8 bits; `activation` is the sum's then, beside the operation's own.
  std::optional<Quant8Terms> terms;
  // The results between the convolutions of a chain, from the first on. A chain is a depthwise
  // convolution, one by points behind it, and perhaps one by points in front of it. The site has
  // the inputs of all of them, those after the first without their image. All other members of
  // Fused except the padding concern the last convolution.
  struct Between {
    const ops::Tensor* result;
    size_t inputs;  // of the site, those of the convolutions up to this result
  };
  std::vector<Between> between;
  // The rounding of input 0 before the operation.
  std::optional<RoundedRows> rounding;

  bool hasPadding() const { return padding != std::array<int64_t, 4>{}; }
};

// An operation as a kernel's maker sees it. All dimensions are known and positive. Constants have
// data, other operands have none; the operation's inference has accepted them.
struct KernelSite {
  std::span<const ops::Tensor> inputs;
  std::span<const ops::Tensor> outputs;
  ops::SimdLevel level = ops::newestSimdLevel();  // the newest instructions that may be used
  bool isRelaxed = false;      // float32 may be computed with the range and precision of float16
  Packing* packing = nullptr;  // null: packed constants lie on the heap
  Fused fused = {};
  const ops::OperationDefinition* definition = nullptr;  // set by makeKernel
  // By input: the model's operand, and the parts that other kernels have made of it. Without
  // operands nothing is shared.
  std::span<const uint32_t> operands = {};
  SharedParts* parts = nullptr;
  // By input, for makers that take quantised weights (kernel_list.h): the bytes of a constant that
  // the model stores as bytes, and computes with as floats. Each byte counts in one step, or in a
  // step for each element of the first dimension. Null for other inputs, among them all vectors.
  // Floats of such a constant are there only on request (floatsOf).
  std::span<const ops::Tensor* const> quantised = {};

  bool hasInput(size_t i) const { return i < inputs.size() && !inputs[i].omitted; }
  bool isConstant(size_t i) const { return hasInput(i) && inputs[i].data != nullptr; }

  // Replaces the operation's own activation by the fused one; false when both clamp.
  bool fuseActivation(ops::FuseCode* code) const {
    if (!fused.activation || fused.terms) return true;
    if (*code != ops::FuseCode::NONE) return false;
    *code = *fused.activation;
    return true;
  }

  // The result of `write(T*)`, which gets `count` zeros to pack constants into.
  template <typename T, typename F>
  Packed<T> pack(size_t count, F write) const {
    return cpudriver::pack<T>(packing, count, std::move(write));
  }
  // For the functions that pack() calls: see Packing::divide.
  void divide(size_t count, size_t grain, const Packing::Body& body) const {
    packing == nullptr ? body(0, count) : packing->divide(count, grain, body);
  }
  // A T made by `make()`, or by an earlier call for the same operands as these inputs and the same
  // `detail`. The properties of the inputs in T must follow from these two.
  template <typename T, typename Make>
  std::shared_ptr<const T> share(std::span<const size_t> from, int64_t detail,
                                 const Make& make) const {
    if (parts == nullptr || operands.size() < inputs.size()) return make();
    SharedParts::Key key = {detail};
    for (const size_t i : from) key.push_back(i < operands.size() ? int64_t{operands[i]} : -1);
    return parts->get<T>(std::move(key), make);
  }
  const ops::Tensor* quantisedOf(size_t i) const {
    return i < quantised.size() ? quantised[i] : nullptr;
  }
  // The values of quantisedOf(i), and the floats of constant input `i`, until the step is made.
  const int8_t* bytesOf(size_t i) const {
    return static_cast<const int8_t*>(bring(quantised[i]->data));
  }
  const float* floatsOf(size_t i) const {
    return static_cast<const float*>(quantisedOf(i) == nullptr ? inputs[i].data
                                                               : bring(inputs[i].data));
  }
  // The kernel has all that it needs of constant input `i`.
  void release(size_t i) const {
    if (packing != nullptr) packing->release(inputs[i].data);
  }

 private:
  const void* bring(const void* data) const {
    return packing == nullptr ? data : packing->bring(data);
  }
};

// Makes the kernel for a site. Null where no kernel beats the reference kernel.
using KernelMaker = std::unique_ptr<Kernel> (*)(const KernelSite& site);

}  // namespace halyard::cpudriver

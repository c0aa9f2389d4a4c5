// Constants are converted when the kernel is made, inputs and outputs at each run.
#include "kernels/elementwise/half.h"

#include <algorithm>
#include <vector>

#include "base/float16.h"
#include "kernels/vectors/aligned_buffer.h"
#include "ops/elementwise.h"
#include "ops/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace halyard::cpudriver {
namespace {

bool isHalf(OperandType type) {
  return type == OperandType::TENSOR_FLOAT16 || type == OperandType::FLOAT16;
}

#if defined(__x86_64__)
HALYARD_TARGET_AVX512 void widenVectors(const Float16* from, float* to, size_t count) {
  for (size_t i = 0; i < count; i += 16) {
    const size_t left = count - i;
    const auto mask = static_cast<__mmask16>(left >= 16 ? 0xffff : (1u << left) - 1);
    const __m256i halves = _mm256_maskz_loadu_epi16(mask, from + i);
    _mm512_mask_storeu_ps(to + i, mask, _mm512_cvtph_ps(halves));
  }
}
HALYARD_TARGET_AVX512 void narrowVectors(const float* from, Float16* to, size_t count) {
  for (size_t i = 0; i < count; i += 16) {
    const size_t left = count - i;
    const auto mask = static_cast<__mmask16>(left >= 16 ? 0xffff : (1u << left) - 1);
    const __m512 floats = _mm512_maskz_loadu_ps(mask, from + i);
    _mm256_mask_storeu_epi16(to + i, mask, _mm512_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT));
  }
}
#endif

HALYARD_ALWAYS_INLINE void widenAll(const Float16* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = toFloat(from[i]);
}
HALYARD_ALWAYS_INLINE void narrowAll(const float* from, Float16* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = toFloat16(from[i]);
}

void widen(const Float16* from, float* to, size_t count, [[maybe_unused]] ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level >= ops::SimdLevel::AVX512) return widenVectors(from, to, count);
#endif
  ops::runBest<&widenAll>(from, to, count);
}
void narrow(const float* from, Float16* to, size_t count, [[maybe_unused]] ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level >= ops::SimdLevel::AVX512) return narrowVectors(from, to, count);
#endif
  ops::runBest<&narrowAll>(from, to, count);
}

// The tensor as the inner kernel sees it.
ops::Tensor widened(const ops::Tensor& tensor) {
  ops::Tensor wide = tensor;
  if (tensor.type == OperandType::TENSOR_FLOAT16) wide.type = OperandType::TENSOR_FLOAT32;
  if (tensor.type == OperandType::FLOAT16) wide.type = OperandType::FLOAT32;
  return wide;
}

class HalfKernel final : public Kernel {
 public:
  // One operand of a run.
  struct Edge {
    bool isHalf;
    size_t elements;
    AlignedBuffer<float> constant;  // the inner kernel reads this instead; empty: it is converted
  };

  HalfKernel(std::unique_ptr<Kernel> kernel, std::vector<Edge> inputs, std::vector<Edge> outputs,
             ops::SimdLevel level)
      : kernel_(std::move(kernel)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        level_(level) {
    for (uint32_t i = 0; i < inputs_.size() + outputs_.size(); ++i) {
      (i < inputs_.size() ? inputIndexes_ : outputIndexes_).push_back(i);
    }
  }

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    auto* const data =
        static_cast<void**>(services.scratch((inputs_.size() + outputs_.size()) * sizeof(void*)));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      data[i] = inputData(operands, i, services);
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      void* const own = operands.data[operands.outputs[i]];
      data[inputs_.size() + i] =
          outputs_[i].isHalf ? services.scratch(outputs_[i].elements * sizeof(float)) : own;
    }
    HALYARD_RETURN_IF_ERROR(kernel_->run({data, inputIndexes_, outputIndexes_}, services));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs_[i].isHalf) continue;
      const auto* const from = static_cast<const float*>(data[inputs_.size() + i]);
      auto* const to = operands.output<Float16>(i);
      services.parallelFor(outputs_[i].elements, ops::kElementGrain, [&](size_t begin, size_t end) {
        narrow(from + begin, to + begin, end - begin, level_);
      });
    }
    return okStatus();
  }

 private:
  void* inputData(const KernelOperands& operands, size_t i, ops::KernelServices& services) const {
    const Edge& edge = inputs_[i];
    // Kernels do not write to inputs.
    if (edge.constant.size() > 0) return const_cast<float*>(edge.constant.data());
    if (!edge.isHalf) return operands.data[operands.inputs[i]];
    auto* const wide = static_cast<float*>(services.scratch(edge.elements * sizeof(float)));
    const auto* const from = operands.input<Float16>(i);
    services.parallelFor(edge.elements, ops::kElementGrain, [&](size_t begin, size_t end) {
      widen(from + begin, wide + begin, end - begin, level_);
    });
    return wide;
  }

  const std::unique_ptr<Kernel> kernel_;
  const std::vector<Edge> inputs_;
  const std::vector<Edge> outputs_;
  const ops::SimdLevel level_;
  std::vector<uint32_t> inputIndexes_;
  std::vector<uint32_t> outputIndexes_;
};

}  // namespace

bool hasHalves(const KernelSite& site) {
  const auto isHalfTensor = [](const ops::Tensor& tensor) { return isHalf(tensor.type); };
  return std::ranges::any_of(site.inputs, isHalfTensor) ||
         std::ranges::any_of(site.outputs, isHalfTensor);
}

std::unique_ptr<Kernel> makeHalfKernel(const KernelSite& site, KernelMaker make) {
  std::vector<ops::Tensor> inputs;
  std::vector<ops::Tensor> outputs;
  std::vector<HalfKernel::Edge> inputEdges;
  std::vector<HalfKernel::Edge> outputEdges;
  for (const ops::Tensor& tensor : site.inputs) {
    inputs.push_back(widened(tensor));
    inputEdges.push_back({isHalf(tensor.type) && !tensor.omitted, tensor.elementCount(), {}});
    HalfKernel::Edge& edge = inputEdges.back();
    if (!edge.isHalf || tensor.data == nullptr) continue;
    edge.constant = AlignedBuffer<float>(edge.elements);
    widen(tensor.as<Float16>(), edge.constant.data(), edge.elements, site.level);
    inputs.back().data = edge.constant.data();
  }
  for (const ops::Tensor& tensor : site.outputs) {
    outputs.push_back(widened(tensor));
    outputEdges.push_back({isHalf(tensor.type), tensor.elementCount(), {}});
  }
  KernelSite wide = site;
  wide.inputs = inputs;
  wide.outputs = outputs;
  wide.isRelaxed = true;
  auto kernel = make(wide);
  if (kernel == nullptr) return nullptr;
  if (site.fused.addsInput) {
    inputEdges.push_back({isHalf(site.outputs[0].type), site.outputs[0].elementCount(), {}});
  }
  // Weights that the kernel has rearranged need not be in memory twice; it gets the pointers only.
  // Each run reads the tensor that the weights apply to, even if it is a constant.
  for (size_t i = 1; i < site.inputs.size(); ++i) {
    HalfKernel::Edge& edge = inputEdges[i];
    if (edge.constant.size() == 0 || kernel->readsConstants()) continue;
    edge.constant = {};
    edge.isHalf = false;
  }
  return std::make_unique<HalfKernel>(std::move(kernel), std::move(inputEdges),
                                      std::move(outputEdges), site.level);
}

}  // namespace halyard::cpudriver

// For each operation the best of: no step, a part of a fused step, a step of its own.
#include "step_list.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "attention.h"
#include "base/work_limit.h"
#include "fusion.h"
#include "kernel_list.h"
#include "kernels/elementwise/byte_table.h"
#include "kernels/layers/row_normalization.h"
#include "kernels/layers/row_rounding.h"
#include "normalization.h"

namespace halyard::cpudriver {
namespace {

// Operations of a known pattern, which one kernel computes.
struct Pattern {
  std::vector<size_t> before;  // all operations except the last one
  OperandIndexes inputs;
  std::unique_ptr<Kernel> kernel;
};

class StepMaker {
 public:
  StepMaker(const cpu::SubgraphPlan& plan, Packing* packing, bool isRelaxed)
      : plan_(plan),
        packing_(packing),
        isRelaxed_(isRelaxed),
        graph_(plan),
        steps_(plan.subgraph->operations.size()),
        isDone_(plan.isFolded) {
    for (uint32_t operand = 0; operand < plan.tensors.size(); ++operand) {
      memoryOf_.push_back(operand);
    }
    for (size_t i = 0; i < plan.isFolded.size(); ++i) {
      if (plan.isFolded[i]) foldedBy_.emplace(graph_.operation(i).outputs[0], i);
    }
  }

  std::vector<Step> make() {
    findPatterns();
    for (size_t i = 0; i < steps_.size(); ++i) {
      checkWorkLimit();
      if (isDone_[i]) continue;
      const bool isMade =
          makeAlias(i) || makeTable(i) || makeRounding(i) || makePattern(i) || makeFused(i);
      if (isMade) continue;
      const Operation& operation = graph_.operation(i);
      place(i, operation.inputs, operation.outputs, makePlain(i));
    }
    std::vector<Step> steps;
    for (std::optional<Step>& step : steps_) {
      if (step) steps.push_back(std::move(*step));
    }
    // Only now is it known where all the tensors are.
    for (Step& step : steps) {
      for (const uint32_t operand : step.inputs) step.sources.push_back(memoryOf_[operand]);
    }
    return steps;
  }

 private:
  // The inputs of a site, as its maker sees them.
  struct SiteInputs {
    std::vector<ops::Tensor> tensors;
    std::vector<const ops::Tensor*> quantised;  // as KernelSite has them
  };
  SiteInputs siteInputs(const OperandIndexes& operands, bool takesQuantised) const {
    SiteInputs inputs;
    inputs.tensors.reserve(operands.size());
    for (const uint32_t operand : operands) {
      ops::Tensor& tensor = inputs.tensors.emplace_back(plan_.tensors[operand]);
      const auto* const quantised =
          takesQuantised ? inputs.quantised.emplace_back(quantisedOf(operand)) : nullptr;
      if (packing_ == nullptr || tensor.data == nullptr || quantised != nullptr) continue;
      tensor.data = const_cast<void*>(packing_->bring(tensor.data));
    }
    return inputs;
  }
  std::vector<ops::Tensor> tensorsOf(const OperandIndexes& operands) const {
    return siteInputs(operands, false).tensors;
  }

  // The constant of bytes times steps that a matrix is dequantised of; null: no such constant.
  const ops::Tensor* quantisedOf(uint32_t operand) const {
    const auto folded = foldedBy_.find(operand);
    if (folded == foldedBy_.end() || plan_.tensors[operand].rank() < 2) return nullptr;
    const ops::Tensor& stored = plan_.tensors[graph_.operation(folded->second).inputs[0]];
    switch (stored.type) {
      case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
        return stored.zeroPoint == 0 ? &stored : nullptr;
      case OperandType::TENSOR_QUANT8_SYMM:
        return &stored;
      case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL:
        return stored.channelQuant->channelDim == 0 ? &stored : nullptr;
      default:
        return nullptr;
    }
  }

  std::vector<const void*> constantsOf(const OperandIndexes& operands) const {
    std::vector<const void*> constants;
    for (const uint32_t operand : operands) {
      if (plan_.tensors[operand].data != nullptr) constants.push_back(plan_.tensors[operand].data);
    }
    return constants;
  }

  // The step that computes operation `last` with others.
  void place(size_t last, const OperandIndexes& inputs, const OperandIndexes& outputs,
             std::unique_ptr<Kernel> kernel) {
    if (packing_ != nullptr) packing_->endStep(kernel != nullptr, constantsOf(inputs));
    steps_[last] = Step{last, inputs, outputs, {}, std::move(kernel)};
    isDone_[last] = true;
  }
  void swallow(size_t i) {
    steps_[i].reset();
    isDone_[i] = true;
  }
  void swallow(const std::vector<size_t>& operations) {
    for (const size_t i : operations) swallow(i);
  }

  std::unique_ptr<Kernel> makePlain(size_t i) const {
    const Operation& operation = graph_.operation(i);
    const SiteInputs inputs =
        siteInputs(operation.inputs, takesQuantised(graph_.definition(i), {}));
    const std::vector<ops::Tensor> outputs = tensorsOf(operation.outputs);
    return makeKernel(graph_.definition(i), {.inputs = inputs.tensors,
                                             .outputs = outputs,
                                             .isRelaxed = isRelaxed_,
                                             .packing = packing_,
                                             .operands = operation.inputs,
                                             .parts = &parts_,
                                             .quantised = inputs.quantised});
  }

  // Outputs of the model are memory of their own; of constants it must be known who reads them.
  bool makeAlias(size_t i) {
    const Operation& operation = graph_.operation(i);
    if (!isReshape(graph_, i) || plan_.outputPosition[operation.outputs[0]] ||
        plan_.tensors[operation.inputs[0]].data != nullptr) {
      return false;
    }
    memoryOf_[operation.outputs[0]] = memoryOf_[operation.inputs[0]];
    isDone_[i] = true;
    return true;
  }

  bool makeTable(size_t i) {
    const std::vector<size_t> chain = tableChain(graph_, i);
    if (chain.empty() || isDone_[chain.back()]) return false;
    std::vector<std::vector<ops::Tensor>> tensors;
    for (const size_t link : chain) {
      tensors.push_back(tensorsOf({graph_.operation(link).inputs[0]}));
      tensors.push_back(tensorsOf({graph_.operation(link).outputs[0]}));
    }
    std::vector<KernelSite> sites;
    for (size_t link = 0; link < chain.size(); ++link) {
      sites.push_back({.inputs = tensors[2 * link],
                       .outputs = tensors[2 * link + 1],
                       .definition = &graph_.definition(chain[link])});
    }
    const auto table = tableOf(std::span<const KernelSite>(sites));
    if (!table) return false;
    swallow(chain);
    const OperandIndexes& outputs = graph_.operation(chain.back()).outputs;
    place(chain.back(), {graph_.operation(i).inputs[0]}, outputs,
          makeTableKernel(*table, plan_.tensors[outputs[0]].elementCount()));
    return true;
  }

  // Before there are steps, since a pattern is known by its last operation.
  void findPatterns() {
    roundings_.resize(steps_.size());
    patterns_.resize(steps_.size());
    for (size_t i = 0; i < steps_.size(); ++i) {
      roundings_[i] = rowRoundingAt(graph_, i);
      if (roundings_[i]) swallow(roundings_[i]->before);
      auto pattern = patternAt(i);
      if (!pattern || !areApart(pattern->before)) continue;
      swallow(pattern->before);
      patterns_[i] = std::move(pattern);
    }
  }

  // Whether no operation is a part of another pattern, or its last one.
  bool areApart(const std::vector<size_t>& operations) const {
    return std::ranges::none_of(
        operations, [&](size_t i) { return isDone_[i] || roundings_[i] || patterns_[i]; });
  }

  bool makeRounding(size_t i) {
    if (!roundings_[i]) return false;
    const RowRounding& rounding = *roundings_[i];
    const size_t rows = plan_.tensors[rounding.input].elementCount() / rounding.rows.extent;
    place(i, {rounding.input}, graph_.operation(i).outputs, makeRowRounding(rounding.rows, rows));
    return true;
  }

  std::optional<Pattern> patternAt(size_t i) const {
    if (auto normalization = rowNormalizationAt(graph_, i)) {
      const size_t rows =
          plan_.tensors[normalization->input].elementCount() / normalization->extent;
      return Pattern{std::move(normalization->before),
                     {normalization->input, normalization->factors, normalization->summands},
                     makeRowNormalization(rows, normalization->extent, normalization->epsilon)};
    }
    if (auto attention = attentionAt(graph_, i)) {
      return Pattern{std::move(attention->before), std::move(attention->inputs),
                     makeAttention(attention->shape, isRelaxed_)};
    }
    return std::nullopt;
  }

  bool makePattern(size_t i) {
    if (!patterns_[i]) return false;
    place(i, patterns_[i]->inputs, graph_.operation(i).outputs, std::move(patterns_[i]->kernel));
    return true;
  }

  // Whether nothing that comes behind operation `i` is part of another fusion.
  bool areFree(const Fusion& fusion, size_t i) const {
    return !isDone_[fusion.last] && std::ranges::none_of(fusion.swallowed, [&](size_t swallowed) {
      return swallowed > i && isDone_[swallowed];
    });
  }

  bool makeFused(size_t i) {
    for (const Fusion& fusion : fusionsOf(graph_, i)) {
      if (!areFree(fusion, i)) continue;
      SiteInputs inputs =
          siteInputs(fusion.inputs, takesQuantised(graph_.definition(i), fusion.fused));
      if (fusion.fused.addsInput) inputs.tensors.pop_back();
      const OperandIndexes& outputs = graph_.operation(fusion.last).outputs;
      std::vector<ops::Tensor> results = tensorsOf(outputs);
      results[0].dims = plan_.tensors[fusion.shape].dims;
      auto kernel = makeKernel(graph_.definition(i), {.inputs = inputs.tensors,
                                                      .outputs = results,
                                                      .isRelaxed = isRelaxed_,
                                                      .packing = packing_,
                                                      .fused = fusion.fused,
                                                      .quantised = inputs.quantised});
      if (kernel == nullptr) continue;
      swallow(fusion.swallowed);
      place(fusion.last, fusion.inputs, outputs, std::move(kernel));
      return true;
    }
    return false;
  }

  const cpu::SubgraphPlan& plan_;
  Packing* const packing_;  // may be null
  const bool isRelaxed_;
  mutable SharedParts parts_;  // for makers
  const FusionGraph graph_;
  std::vector<std::optional<Step>> steps_;  // by operation
  std::vector<bool> isDone_;                // by operation
  // By the pattern's last operation.
  std::vector<std::optional<RowRounding>> roundings_;
  std::vector<std::optional<Pattern>> patterns_;
  std::vector<uint32_t> memoryOf_;                 // by operand: in whose memory it is
  std::unordered_map<uint32_t, size_t> foldedBy_;  // by operand: the folded operation
};

}  // namespace

std::vector<Step> makeSteps(const cpu::SubgraphPlan& plan, Packing* packing, bool isRelaxed) {
  return StepMaker(plan, packing, isRelaxed).make();
}

void addBodySteps(cpu::ExecutionPlan* plan, Packing* packing) {
  for (cpu::SubgraphPlan& body : plan->referenced) {
    if (!cpu::canHaveSteps(body)) continue;
    body.steps = cpu::planSteps(
        body, makeSteps(body, packing, plan->model->relaxComputationFloat32toFloat16));
  }
}

}  // namespace halyard::cpudriver

// Turns choices into steps and sequences.
#include "runtime/partition/plan_builder.h"

#include <algorithm>

#include "ops/operation.h"
#include "runtime/partition/step_model.h"

namespace halyard::runtime {
namespace {

class PlanBuilder {
 public:
  PlanBuilder(const SupportTable& support, CostModel& costs, const OperationNamer& nameOf)
      : support_(support), costs_(costs), nameOf_(nameOf), model_(support.model()) {}

  Result<Plan> run(const SubgraphChoice& choice) {
    HALYARD_ASSIGN_OR_RETURN(plan_.sequence, sequenceOf(choice));
    return std::move(plan_);
  }

 private:
  Result<PlanSequence> sequenceOf(const SubgraphChoice& choice) {
    PlanSequence sequence;
    const std::vector<uint32_t> consumers = countConsumers(subgraphAt(*model_, choice.subgraph));
    for (size_t p = 0; p < choice.parts.size(); ++p) {
      const Part& part = choice.parts[p];
      if (part.device == support_.devices().size()) {
        HALYARD_ASSIGN_OR_RETURN(PlanNode node, controlFlow(choice, part.operations[0]));
        sequence.push_back(std::move(node));
        continue;
      }
      HALYARD_ASSIGN_OR_RETURN(const uint32_t step,
                               addStep(choice.subgraph, part, choice.borders[p], consumers));
      sequence.push_back({ComputeNode{step}});
    }
    return sequence;
  }

  Result<PlanNode> controlFlow(const SubgraphChoice& choice, uint32_t operation) {
    const auto& inner = choice.inner.at(operation);
    HALYARD_ASSIGN_OR_RETURN(PlanSequence first, sequenceOf(*inner[0]));
    HALYARD_ASSIGN_OR_RETURN(PlanSequence second, sequenceOf(*inner[1]));
    const OperationType type = subgraphAt(*model_, choice.subgraph).operations[operation].type;
    if (ops::definitionOf(type)->controlFlow == ops::ControlFlow::BRANCH) {
      return PlanNode{IfNode{choice.subgraph, operation, std::move(first), std::move(second)}};
    }
    return PlanNode{WhileNode{choice.subgraph, operation, std::move(first), std::move(second)}};
  }

  Result<uint32_t> addStep(uint32_t subgraph, const Part& part, const PartBorder& border,
                           std::span<const uint32_t> consumers) {
    const Device& device = *support_.devices()[part.device];
    const bool isCpu = part.device == support_.cpu();
    const auto describe = [&] {
      return fmt::format("the part of {} operations from {} on, for device {},",
                         part.operations.size(), nameOf_(subgraph, part.operations[0]),
                         device.name());
    };
    // With NNAPI's plain rules, even the CPU device gets no part without inputs.
    if (border.inputs == 0 && !(isCpu && costs_.countsBoundaries())) {
      return opFailed("{} has no inputs", describe());
    }
    if (border.outputs == 0) return opFailed("{} has no outputs", describe());
    if (border.dynamicTemporary) {
      if (!isCpu && device.info().halVersion < HalVersion::V1_2) {
        return opFailed(
            "{} gives a value of unknown size to another, which needs HAL 1.2; the "
            "device has {}",
            describe(), halVersionName(device.info().halVersion));
      }
      plan_.hasDynamicTemporaries = true;
    }
    StepModel made = makeStepModel(model_, subgraph, part.operations, consumers);
    ComputeStep step(std::move(made.model));
    step.device = &device;
    step.subgraph = subgraph;
    step.operations = part.operations;
    step.inputs = std::move(made.inputs);
    step.outputs = std::move(made.outputs);
    step.predicted = costs_.costOf(subgraph, part, border);
    plan_.steps.push_back(std::move(step));
    return static_cast<uint32_t>(plan_.steps.size() - 1);
  }

  const SupportTable& support_;
  CostModel& costs_;
  const OperationNamer& nameOf_;
  const ValidModel& model_;
  Plan plan_;
};

}  // namespace

Plan simplePlan(const Model& model, ValidModel asModel, const Device& device) {
  Plan plan;
  ComputeStep step(std::move(asModel));
  step.device = &device;
  for (uint32_t n = 0; n < model.main.operations.size(); ++n) step.operations.push_back(n);
  step.inputs = model.main.inputIndexes;
  step.outputs = model.main.outputIndexes;
  plan.steps.push_back(std::move(step));
  plan.sequence.push_back({ComputeNode{0}});
  plan.simple = true;
  return plan;
}

Result<Plan> buildPlan(SupportTable& support, CostModel& costs, const SubgraphChoice& choice,
                       const OperationNamer& nameOf) {
  const std::vector<const Device*>& devices = support.devices();
  const uint32_t first = choice.deviceOf.empty() ? 0 : choice.deviceOf[0];
  const bool isSimple =
      first < devices.size() && std::all_of(choice.deviceOf.begin(), choice.deviceOf.end(),
                                            [&](uint32_t each) { return each == first; });
  if (!isSimple) return PlanBuilder(support, costs, nameOf).run(choice);
  Plan plan = simplePlan(*support.model(), support.asModel(kMainSubgraph), *devices[first]);
  plan.steps[0].predicted = choice.predicted;
  return plan;
}

}  // namespace halyard::runtime

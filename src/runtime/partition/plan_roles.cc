#include "runtime/partition/plan_roles.h"

#include <algorithm>
#include <set>

namespace halyard::runtime {
namespace {

class RoleFinder {
 public:
  RoleFinder(const Model& model, const Plan& plan) : model_(model), plan_(plan) {}

  // `operands`: the relevant operands of the subgraph.
  void visit(const PlanSequence& sequence, uint32_t subgraph, const std::set<uint32_t>& operands) {
    if (operands.empty()) return;
    for (const PlanNode& node : sequence) {
      if (const auto* compute = std::get_if<ComputeNode>(&node.what)) {
        visitStep(compute->step, operands);
      } else if (const auto* branch = std::get_if<IfNode>(&node.what)) {
        const Operation& operation = subgraphAt(model_, subgraph).operations[branch->operation];
        visitBranch(branch->thenSequence, inner(subgraph, operation.inputs[1]), operation,
                    operands);
        visitBranch(branch->elseSequence, inner(subgraph, operation.inputs[2]), operation,
                    operands);
      } else {
        const auto& loop = std::get<WhileNode>(node.what);
        visitLoop(loop, subgraph, operands);
      }
    }
  }

  std::set<StepRole> take() { return std::move(roles_); }

 private:
  uint32_t inner(uint32_t subgraph, uint32_t operand) const {
    return subgraphAt(model_, subgraph).operands[operand].location.offset;
  }

  void visitStep(uint32_t index, const std::set<uint32_t>& operands) {
    const ComputeStep& step = plan_.steps[index];
    for (uint32_t i = 0; i < step.inputs.size(); ++i) {
      if (operands.contains(step.inputs[i])) roles_.insert({index, true, i});
    }
    for (uint32_t i = 0; i < step.outputs.size(); ++i) {
      if (operands.contains(step.outputs[i])) roles_.insert({index, false, i});
    }
  }

  void visitBranch(const PlanSequence& sequence, uint32_t subgraph, const Operation& operation,
                   const std::set<uint32_t>& operands) {
    constexpr size_t kFirstInput = 3;
    const Subgraph& branch = subgraphAt(model_, subgraph);
    std::set<uint32_t> own;
    for (size_t i = kFirstInput; i < operation.inputs.size(); ++i) {
      if (operands.contains(operation.inputs[i])) own.insert(branch.inputIndexes[i - kFirstInput]);
    }
    for (size_t i = 0; i < operation.outputs.size(); ++i) {
      if (operands.contains(operation.outputs[i])) own.insert(branch.outputIndexes[i]);
    }
    visit(sequence, subgraph, own);
  }

  void visitLoop(const WhileNode& loop, uint32_t subgraph, const std::set<uint32_t>& operands) {
    constexpr size_t kFirstInput = 2;
    const Operation& operation = subgraphAt(model_, subgraph).operations[loop.operation];
    const uint32_t condition = inner(subgraph, operation.inputs[0]);
    const uint32_t body = inner(subgraph, operation.inputs[1]);
    std::set<uint32_t> inCondition;
    std::set<uint32_t> inBody;
    const auto addInput = [&](size_t i) {
      inCondition.insert(subgraphAt(model_, condition).inputIndexes[i]);
      inBody.insert(subgraphAt(model_, body).inputIndexes[i]);
    };
    for (size_t i = kFirstInput; i < operation.inputs.size(); ++i) {
      if (operands.contains(operation.inputs[i])) addInput(i - kFirstInput);
    }
    for (size_t i = 0; i < operation.outputs.size(); ++i) {
      if (!operands.contains(operation.outputs[i])) continue;
      addInput(i);
      inBody.insert(subgraphAt(model_, body).outputIndexes[i]);
    }
    visit(loop.condition, condition, inCondition);
    visit(loop.body, body, inBody);
  }

  const Model& model_;
  const Plan& plan_;
  std::set<StepRole> roles_;
};

}  // namespace

std::vector<StepRole> rolesOf(const Model& model, const Plan& plan, bool isInput, uint32_t index) {
  const std::vector<uint32_t>& list = isInput ? model.main.inputIndexes : model.main.outputIndexes;
  RoleFinder finder(model, plan);
  finder.visit(plan.sequence, kMainSubgraph, {list[index]});
  const std::set<StepRole> roles = finder.take();
  return {roles.begin(), roles.end()};
}

}  // namespace halyard::runtime

// Runs branches and loops: passes values to another subgraph's run and takes its results.
#include "cpu/control_flow_run.h"

#include "cpu/subgraph_run.h"
#include "cpu/while_loop.h"

namespace halyard::cpu {
namespace {

// Returns the subgraph that input i of the operation refers to.
const SubgraphPlan& subgraphOf(const SubgraphPlan& plan, const Operation& operation, size_t i,
                               const RunServices& services) {
  const Operand& operand = plan.subgraph->operands[operation.inputs[i]];
  return services.plan.referenced[operand.location.offset];
}

// Returns the value of a condition; validation ensures that it is a TENSOR_BOOL8[1].
bool isTrue(const ops::Tensor& condition) { return *condition.as<uint8_t>() != 0; }

class BranchRun {
 public:
  BranchRun(const SubgraphPlan& plan, const Operation& operation, const RunServices& services)
      : plan_(plan), operation_(operation), services_(services) {}

  Status run(std::span<const ops::Tensor> inputs, std::vector<RunValue>* values) {
    const ops::Tensor& condition = inputs[0];
    if (condition.omitted) {
      return opFailed("input 0 (condition) has no value, but the operation needs it");
    }
    const size_t chosen = isTrue(condition) ? 1 : 2;
    HALYARD_RETURN_IF_ERROR(
        runChosen(subgraphOf(plan_, operation_, chosen, services_), inputs.subspan(3), values),
        "{}", branchName(chosen == 1));
    return okStatus();
  }

 private:
  Status runChosen(const SubgraphPlan& chosen, std::span<const ops::Tensor> inputs,
                   std::vector<RunValue>* values) {
    SubgraphRun run(chosen, services_);
    for (size_t i = 0; i < inputs.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(run.bindInput(i, inputs[i]));
    }
    HALYARD_RETURN_IF_ERROR(run.run());
    for (size_t i = 0; i < operation_.outputs.size(); ++i) values->push_back(run.takeOutput(i));
    return okStatus();
  }

  const SubgraphPlan& plan_;
  const Operation& operation_;
  const RunServices& services_;
};

// The loop's values lie in two sets of blocks. The body reads one set and writes the other; then
// the sets change places.
class LoopRun {
 public:
  LoopRun(const SubgraphPlan& plan, const Operation& operation, const RunServices& services)
      : services_(services),
        outputCount_(operation.outputs.size()),
        bodyPlan_(subgraphOf(plan, operation, 1, services)),
        condition_(subgraphOf(plan, operation, 0, services), services),
        body_(bodyPlan_, services) {}
  // Values that stay inside the loop return to the execution's blocks.
  ~LoopRun() {
    for (RunValue& value : state_) services_.blocks.release(std::move(value.block));
  }
  LoopRun(const LoopRun&) = delete;
  LoopRun& operator=(const LoopRun&) = delete;

  Status run(std::span<const ops::Tensor> inputs, std::vector<RunValue>* values) {
    const std::span<const ops::Tensor> initial = inputs.subspan(2);
    for (const ops::Tensor& tensor : initial) state_.push_back({tensor, {}});
    HALYARD_RETURN_IF_ERROR(runWhile(
        services_.options->loopTimeout, [&](uint64_t) { return evaluateCondition(); },
        [&](uint64_t) { return runBody(); }));
    for (size_t i = 0; i < outputCount_; ++i) {
      if (state_[i].tensor.omitted) {
        return opFailed("output {} has no value: input {} is omitted and the loop was not entered",
                        i, i + 2);
      }
      values->push_back(std::move(state_[i]));
    }
    return okStatus();
  }

 private:
  Status bindAll(SubgraphRun* run) {
    for (size_t i = 0; i < state_.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(run->bindInput(i, state_[i].tensor));
    }
    return okStatus();
  }

  Result<bool> evaluateCondition() {
    condition_.reset();
    HALYARD_RETURN_IF_ERROR(bindAll(&condition_));
    HALYARD_RETURN_IF_ERROR(condition_.run());
    return isTrue(condition_.output(0));
  }

  Status runBody() {
    body_.reset();
    HALYARD_RETURN_IF_ERROR(bindAll(&body_));
    HALYARD_RETURN_IF_ERROR(body_.run());
    for (size_t i = 0; i < bodyPlan_.subgraph->outputIndexes.size(); ++i) {
      services_.blocks.release(std::move(state_[i].block));
      state_[i] = body_.takeOutput(i);
    }
    return okStatus();
  }

  const RunServices& services_;
  const size_t outputCount_;
  const SubgraphPlan& bodyPlan_;
  SubgraphRun condition_;
  SubgraphRun body_;
  std::vector<RunValue> state_;  // by input of the two subgraphs
};

}  // namespace

Status runControlFlow(const SubgraphPlan& plan, size_t index, const RunServices& services,
                      std::span<const ops::Tensor> inputs, std::vector<RunValue>* values) {
  const Operation& operation = plan.subgraph->operations[index];
  if (plan.definitions[index]->controlFlow == ops::ControlFlow::BRANCH) {
    return BranchRun(plan, operation, services).run(inputs, values);
  }
  return LoopRun(plan, operation, services).run(inputs, values);
}

}  // namespace halyard::cpu

// TinyEngine: a minimal engine that executes plans, for tests of the contents of plans.
// Thread safety: one thread at a time. Ownership: borrows plan and model.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "runtime/partition/plan.h"

namespace halyard::runtime::testing {

// Runs a plan step by step. All sizes must be known.
class TinyEngine {
 public:
  using Bytes = std::vector<uint8_t>;

  TinyEngine(const Plan& plan, const Model& model) : plan_(plan), model_(model) {}

  // The values of the outputs of the main subgraph for the given inputs.
  std::vector<Bytes> run(const std::vector<Bytes>& inputs) {
    return runSubgraph(kMainSubgraph, plan_.sequence, inputs);
  }

 private:
  using Values = std::map<uint32_t, Bytes>;  // by operand

  static Bytes zeros(const Operand& operand) {
    return Bytes(knownByteSize(operand.type, operand.dimensions).value(), 0);
  }

  std::vector<Bytes> runSubgraph(uint32_t index, const PlanSequence& sequence,
                                 const std::vector<Bytes>& inputs) {
    const Subgraph& subgraph = subgraphAt(model_, index);
    Values values;
    for (size_t i = 0; i < inputs.size(); ++i) values[subgraph.inputIndexes[i]] = inputs[i];
    for (const PlanNode& node : sequence) runNode(subgraph, node, &values);
    std::vector<Bytes> outputs;
    for (const uint32_t operand : subgraph.outputIndexes) outputs.push_back(values.at(operand));
    return outputs;
  }

  Bytes valueOf(const Subgraph& subgraph, uint32_t index, const Values& values) const {
    const Operand& operand = subgraph.operands[index];
    if (operand.lifetime != Lifetime::CONSTANT_COPY) return values.at(index);
    const auto begin = model_.operandValues.begin() + operand.location.offset;
    return {begin, begin + operand.location.length};
  }

  void runNode(const Subgraph& subgraph, const PlanNode& node, Values* values) {
    if (const auto* compute = std::get_if<ComputeNode>(&node.what)) {
      runStep(subgraph, plan_.steps[compute->step], values);
    } else if (const auto* branch = std::get_if<IfNode>(&node.what)) {
      const Operation& operation = subgraph.operations[branch->operation];
      const bool condition = valueOf(subgraph, operation.inputs[0], *values)[0] != 0;
      std::vector<Bytes> inputs;
      for (size_t i = 3; i < operation.inputs.size(); ++i) {
        inputs.push_back(valueOf(subgraph, operation.inputs[i], *values));
      }
      const uint32_t chosen =
          subgraph.operands[operation.inputs[condition ? 1 : 2]].location.offset;
      setOutputs(
          operation,
          runSubgraph(chosen, condition ? branch->thenSequence : branch->elseSequence, inputs),
          values);
    } else if (const auto* loop = std::get_if<WhileNode>(&node.what)) {
      const Operation& operation = subgraph.operations[loop->operation];
      std::vector<Bytes> state;
      for (size_t i = 2; i < operation.inputs.size(); ++i) {
        state.push_back(valueOf(subgraph, operation.inputs[i], *values));
      }
      const uint32_t condition = subgraph.operands[operation.inputs[0]].location.offset;
      const uint32_t body = subgraph.operands[operation.inputs[1]].location.offset;
      while (runSubgraph(condition, loop->condition, state)[0][0] != 0) {
        const std::vector<Bytes> next = runSubgraph(body, loop->body, state);
        std::copy(next.begin(), next.end(), state.begin());
      }
      setOutputs(operation, state, values);
    }
  }

  static void setOutputs(const Operation& operation, const std::vector<Bytes>& results,
                         Values* values) {
    for (size_t i = 0; i < operation.outputs.size(); ++i)
      (*values)[operation.outputs[i]] = results[i];
  }

  static void runStep(const Subgraph& subgraph, const ComputeStep& step, Values* values) {
    hal::Request request;
    const auto argument = [](Bytes& bytes) {
      hal::RequestArgument result;
      result.kind = hal::RequestArgument::Kind::POINTER;
      result.pointer = bytes.data();
      result.length = static_cast<uint32_t>(bytes.size());
      return result;
    };
    for (const uint32_t operand : step.inputs)
      request.inputs.push_back(argument(values->at(operand)));
    for (const uint32_t operand : step.outputs) {
      Bytes& bytes = (*values)[operand] = zeros(subgraph.operands[operand]);
      request.outputs.push_back(argument(bytes));
    }
    const hal::ExecutionResult result = step.prepared->executeSynchronously(request, {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
  }

  const Plan& plan_;
  const Model& model_;
};

}  // namespace halyard::runtime::testing

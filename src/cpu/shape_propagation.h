// Shapes ahead of execution: what follows of a subgraph's dimensions from its inputs and constants,
// and which of its operations would fail in every execution.
// Thread safety: a ShapePropagation belongs to one thread; functions are pure.
// Ownership: borrows the plan that it fills.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cpu/execution_plan.h"
#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "ops/operation.h"

namespace halyard::cpu {

// By operation of a subgraph: why every execution that comes to it fails. OP_FAILED, without the
// operation's name.
using SureFailures = std::map<uint32_t, Status>;

class ShapePropagation {
 public:
  enum class Inputs : uint8_t {
    MAY_BE_OMITTED,  // by an execution, where the operations that take them allow it
    ALL_GIVEN,
  };
  // Needs the plan's subgraph, definitions (null for operations that are not known), tensors as
  // they are declared, and `settled`.
  explicit ShapePropagation(SubgraphPlan* plan, Inputs inputs = Inputs::MAY_BE_OMITTED);

  // Fills in the dimensions that follow from the inputs' and from constants, and `fixed`. An
  // operation that fails leaves its outputs as they are declared.
  void run();

  // An operand's dimensions are all known, and will be what they are.
  bool settled(size_t operand) const { return settled_[operand]; }
  const SureFailures& failures() const { return failures_; }

 private:
  bool isKnown(size_t operand) const;
  bool mayInfer(size_t index) const;
  Status infer(size_t index);
  bool isSettled(const Operation& operation) const;

  SubgraphPlan& plan_;
  const std::vector<Operand>& operands_;
  const Inputs inputs_;
  std::vector<bool> settled_;
  SureFailures failures_;
  std::vector<ops::Tensor> tensors_;  // of the operation whose shapes are inferred
};

// An operand as the model declares it, without data.
ops::Tensor declaredTensor(const Operand& operand);

// The operations of the valid model's main subgraph that fail in every execution, by the reference
// rules. Of constants in pools only short lists of numbers are read, and nothing is mapped; what
// other values would make fail is left to the executions.
SureFailures sureFailures(const Model& model);

}  // namespace halyard::cpu

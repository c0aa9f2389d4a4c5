// Shape propagation ahead of execution. It infers the dimensions of a subgraph from its inputs and
// constants. It also finds operations that fail in every execution.
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

// By operation of a subgraph: the error of every execution that reaches it. The code is OP_FAILED,
// and the text does not name the operation.
using SureFailures = std::map<uint32_t, Status>;

class ShapePropagation {
 public:
  enum class Inputs : uint8_t {
    MAY_BE_OMITTED,  // an execution may omit inputs where the operations allow it
    ALL_GIVEN,
  };
  // Needs the plan's subgraph, definitions (null for unknown operations), tensors as declared, and
  // `settled`.
  explicit ShapePropagation(SubgraphPlan* plan, Inputs inputs = Inputs::MAY_BE_OMITTED);

  // Fills in `fixed`, and the dimensions that follow from the inputs and constants. A failing
  // operation leaves its outputs as declared.
  void run();

  // Returns whether an operand's dimensions are all known and final.
  bool settled(size_t operand) const { return settled_[operand]; }
  const SureFailures& failures() const { return failures_; }

 private:
  bool isKnown(size_t operand) const;
  bool mayInfer(size_t index) const;
  Status infer(size_t index);

  SubgraphPlan& plan_;
  const std::vector<Operand>& operands_;
  const Inputs inputs_;
  std::vector<bool> settled_;
  SureFailures failures_;
  std::vector<ops::Tensor> tensors_;  // of the operation in inference
};

// Returns an operand as the model declares it, without data.
ops::Tensor declaredTensor(const Operand& operand);

// Returns the operations of the valid model's main subgraph that fail in every execution, by the
// reference rules. Of constants in pools it reads only short lists of numbers, and it maps nothing.
// Failures that depend on other values are left to the executions.
SureFailures sureFailures(const Model& model);

}  // namespace halyard::cpu

// Operations that are computed together with another one. Thread safety: pure functions but for the
// graph, which belongs to one thread. Ownership: the graph borrows the plan.
#pragma once

#include <optional>
#include <vector>

#include "cpu/execution_plan.h"
#include "kernels/kernel.h"
#include "ops/rounding_steps.h"

namespace halyard::cpudriver {

// Who writes and who reads each operand of the main subgraph.
class FusionGraph {
 public:
  explicit FusionGraph(const cpu::SubgraphPlan& plan);

  const cpu::SubgraphPlan& plan() const { return plan_; }
  const Operation& operation(size_t i) const { return plan_.subgraph->operations[i]; }
  const ops::OperationDefinition& definition(size_t i) const { return *plan_.definitions[i]; }
  const ops::Tensor& tensor(uint32_t operand) const { return plan_.tensors[operand]; }
  // The operation that writes it; none for inputs and constants.
  std::optional<size_t> producer(uint32_t operand) const { return producers_[operand]; }
  // The one operation that reads it, once; none where there are others, or where it is an output of
  // the model.
  std::optional<size_t> onlyReader(uint32_t operand) const;

 private:
  const cpu::SubgraphPlan& plan_;
  std::vector<std::optional<size_t>> producers_;  // by operand
  std::vector<std::optional<size_t>> readers_;    // likewise: the last one
};

// One operation and what can be computed with it.
struct Fusion {
  size_t last;                    // the operation whose outputs are the result
  std::vector<size_t> swallowed;  // all others
  OperandIndexes inputs;          // operands; with Fused::addsInput, the addend behind the others
  Fused fused;
};

// What operation `i` could be fused with, the most first.
std::vector<Fusion> fusionsOf(const FusionGraph& graph, size_t i);

// Whether operation `i` only gives its first input another shape.
bool isReshape(const FusionGraph& graph, size_t i);

// Rounding the rows of a float tensor to as many steps as a byte has, from the least value of each
// row to the greatest: ROUND_TO_DYNAMIC_RANGE, or the operations of the API that the importer of
// .tflite files puts in its place for devices that do not have it.
struct RowRounding {
  static constexpr size_t kOperations = 19;  // of the API

  std::vector<size_t> before;  // all but the last operation
  uint32_t input;              // the tensor that is rounded
  RoundedRows rows;
};
// That which ends with operation `last`; none where there is none.
std::optional<RowRounding> rowRoundingAt(const FusionGraph& graph, size_t last);

// The operations from `i` on that make one table of bytes together: a value becomes a real number,
// goes through functions, and becomes bytes again. Empty where there are none.
std::vector<size_t> tableChain(const FusionGraph& graph, size_t i);

}  // namespace halyard::cpudriver

// Finds operations that are computed together with another one.
// Thread safety: pure functions, except for the graph, which belongs to one thread.
// Ownership: the graph borrows the plan.
#pragma once

#include <optional>
#include <vector>

#include "cpu/execution_plan.h"
#include "kernels/kernel.h"
#include "ops/rounding_steps.h"

namespace halyard::cpudriver {

// The writer and the readers of each operand of the main subgraph.
class FusionGraph {
 public:
  explicit FusionGraph(const cpu::SubgraphPlan& plan);

  const cpu::SubgraphPlan& plan() const { return plan_; }
  const Operation& operation(size_t i) const { return plan_.subgraph->operations[i]; }
  const ops::OperationDefinition& definition(size_t i) const { return *plan_.definitions[i]; }
  const ops::Tensor& tensor(uint32_t operand) const { return plan_.tensors[operand]; }
  // The operation that writes `operand`. Empty for inputs and constants.
  std::optional<size_t> producer(uint32_t operand) const { return producers_[operand]; }
  // The only operation that reads `operand`, once. Empty if it has several readers, or is an output
  // of the model.
  std::optional<size_t> onlyReader(uint32_t operand) const;

 private:
  const cpu::SubgraphPlan& plan_;
  std::vector<std::optional<size_t>> producers_;  // by operand
  std::vector<std::optional<size_t>> readers_;    // by operand: the last one
};

// One operation and the operations that can be computed with it.
struct Fusion {
  size_t last;                    // the operation whose outputs are the result
  std::vector<size_t> swallowed;  // all others
  OperandIndexes inputs;          // operands; with Fused::addsInput, the addend behind the others
  // Has the result's dimensions without the reshapes among the operations.
  uint32_t shape;
  Fused fused;
};

// The fusions of operation `i` with others, in the order in which they are tried: mostly the
// longest first.
std::vector<Fusion> fusionsOf(const FusionGraph& graph, size_t i);

// Whether operation `i` only gives its first input another shape.
bool isReshape(const FusionGraph& graph, size_t i);

// The size of the rows that reduction `i` of floats makes one value of each. Empty if it reduces
// others than the last dimensions, or changes the rank.
std::optional<size_t> rowExtent(const FusionGraph& graph, size_t i);

// Rounds the rows of a float tensor to as many steps as a byte has, from the least value of each
// row to the greatest. This is ROUND_TO_DYNAMIC_RANGE. For devices without this operation, the
// importer of .tflite files writes operations of the API in its place.
struct RowRounding {
  static constexpr size_t kOperations = 19;  // of the API

  std::vector<size_t> before;  // all except the last operation
  uint32_t input;              // the tensor that is rounded
  RoundedRows rows;
};
// The rounding that ends with operation `last`. Empty if `last` ends no rounding.
std::optional<RowRounding> rowRoundingAt(const FusionGraph& graph, size_t last);

// The operations from `i` on that together make one table of bytes: a value becomes a real number,
// goes through functions, and becomes bytes again. Empty if no table can be made.
std::vector<size_t> tableChain(const FusionGraph& graph, size_t i);

}  // namespace halyard::cpudriver

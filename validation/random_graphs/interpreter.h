// The interpreter: computes every value of a model, one operation after the other, with the
// reference kernels.
// Thread safety: pure functions. They start no threads, so that a process may call them before it
// forks.
// Ownership: results own their bytes. Per-channel scales belong to the model, which must outlive
// them.
#pragma once

#include <span>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "ops/testing/test_operand.h"

namespace halyard::random_graphs {

using ops::testing::TestOperand;

// An operand without a value: type, quantisation, declared dimensions.
TestOperand operandOf(const Operand& operand);

// The bytes of a constant operand. An error when its pool cannot be read.
Result<std::vector<uint8_t>> constantBytes(const Model& model, const Operand& operand);

// The outputs of one operation of `subgraph`, also for IF and WHILE. `inputs`: a value for each of
// its inputs; a value for an operand that is a model is ignored. OP_FAILED for loops of more than
// 1000 rounds, and where a branch or round contradicts the dimensions that its model declares.
Result<std::vector<TestOperand>> evaluate(const Model& model, const Subgraph& subgraph,
                                          const Operation& operation,
                                          std::span<const TestOperand> inputs);

// A value for each operand of `subgraph`, from the values of its inputs. Operands that are models
// have no value.
Result<std::vector<TestOperand>> interpret(const Model& model, const Subgraph& subgraph,
                                           std::span<const TestOperand> inputs);

}  // namespace halyard::random_graphs

// The interpreter: every value of a model, one operation after the other, by the reference kernels.
// Thread safety: pure functions that start no threads (a process that is to be forked may call
// them). Ownership: results own their bytes; per-channel scales are those of the model, which must
// live on.
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

// The outputs of one operation of `subgraph`, IF and WHILE included. `inputs`: a value for each of
// its inputs; what stands for a model is ignored. OP_FAILED for loops of more than 1000 rounds.
Result<std::vector<TestOperand>> evaluate(const Model& model, const Subgraph& subgraph,
                                          const Operation& operation,
                                          std::span<const TestOperand> inputs);

// A value for each operand of `subgraph`, by the values of its inputs; models have none.
Result<std::vector<TestOperand>> interpret(const Model& model, const Subgraph& subgraph,
                                           std::span<const TestOperand> inputs);

}  // namespace halyard::random_graphs

// Operations that cpu_bench and vulkan_bench time, and operands for them.
// Thread safety: pure functions. Ownership: the caller owns the results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "halyard/driver/model.h"
#include "ops/testing/test_operand.h"

namespace halyard::bench {

// Arbitrary values; a bias of integers is 0.
ops::testing::TestOperand bytes(OperandType type, const Shape& dims, float scale,
                                int32_t zeroPoint);

struct LayerCase {
  const char* name;
  OperationType operation;
  uint32_t size;  // of the image, which is square
  uint32_t filter;
  uint32_t stride;
  uint32_t depth;
  uint32_t channels;
  uint32_t groups = 1;
  bool hasConstantFilter = true;
};

std::span<const LayerCase> layerCases();
// All operands of a layer: image, filter, bias and scalars.
std::vector<ops::testing::TestOperand> layerInputs(const LayerCase& layer, OperandType type);

struct MatmulSize {
  uint32_t rows;
  uint32_t depth;
  uint32_t columns;
};
// Of BATCH_MATMUL, for a batch of 12 matrices as in attention.
std::vector<ops::testing::TestOperand> matmulInputs(OperandType type, const MatmulSize& size,
                                                    bool isTransposed);

// Of UNIDIRECTIONAL_SEQUENCE_LSTM: a cell with as many hidden values as inputs, for one sequence.
// `isFull`: with peepholes, projection and layer normalisation.
std::vector<ops::testing::TestOperand> lstmInputs(uint32_t cells, uint32_t steps, bool isFull);

// An operation that moves bytes and does not multiply. It is compared with a copy of the same size.
struct MoveCase {
  const char* name;
  OperationType operation;
  std::vector<ops::testing::TestOperand> inputs;
  ops::testing::TestOperand output;
  size_t variables = 1;  // number of leading inputs that are not constants
  std::optional<ops::testing::TestOperand> second = std::nullopt;  // output
};

std::vector<MoveCase> moveCases();

}  // namespace halyard::bench

// Constant folding: turns constant weights to float32 once, so that kernels see float constants.
// Such a model stores weights as bytes or float16 and computes with float32.
//
// Thread safety: pure functions.
// Ownership: the memory owns the values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"
#include "ops/operation.h"

namespace halyard::cpu {

struct SubgraphPlan;

struct FoldedConstant {
  size_t operation = 0;  // computes it
  std::byte* data = nullptr;
  size_t bytes = 0;
};

struct FoldedConstants {
  Mapping memory;  // zeros that take no memory until they are written
  std::vector<FoldedConstant> list;
};

// Whether an operation of the type may make a constant of a constant of `from`.
bool isFoldable(OperationType type, OperandType from);

// Finds the subgraph's constants that are worth folding: a DEQUANTIZE of a constant to a temporary
// of float32, or a CAST of float16 to one. `plan` has the dimensions. The function gives the
// tensors their memory, which computeFolded must fill, and marks the operations. The total is at
// most `mostBytes`, so that a model that repeats the same bytes cannot take more memory than its
// size allows. Returns UNMAPPABLE without memory.
Result<FoldedConstants> findFolded(SubgraphPlan* plan, uint64_t mostBytes);

// Computes the constant into `to`. `from`: the bytes of the operation's input.
Status computeFolded(const SubgraphPlan& plan, const FoldedConstant& folded, const void* from,
                     void* to, ops::KernelServices& services);

}  // namespace halyard::cpu

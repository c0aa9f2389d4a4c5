// Constants that operations make of constants: weights that a model has as bytes, and computes with
// as floats. They are made once, and kernels see constants.
// Thread safety: pure functions. Ownership: the memory owns the values.
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
  size_t operation = 0;  // the DEQUANTIZE that makes it
  std::byte* data = nullptr;
  size_t bytes = 0;
};

struct FoldedConstants {
  Mapping memory;  // zeros that take no memory before they are written
  std::vector<FoldedConstant> list;
};

// Those of the subgraph that are worth it: a DEQUANTIZE of a constant that gives a temporary of
// float32. `plan` has the dimensions; gives the tensors their data, which computeFolded is to
// write, and marks the operations. All together have `mostBytes` at most, so that a model that
// names the same bytes again and again takes no more memory than its size allows. UNMAPPABLE
// without memory.
Result<FoldedConstants> findFolded(SubgraphPlan* plan, uint64_t mostBytes);

// Computes the constant into `to`. `from`: the bytes of the operation's input.
Status computeFolded(const SubgraphPlan& plan, const FoldedConstant& folded, const void* from,
                     void* to, ops::KernelServices& services);

}  // namespace halyard::cpu

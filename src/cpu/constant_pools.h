// The pools of a model as memory that can be read for as long as it is mapped.
// Thread safety: a pure function. Ownership: the mappings own their memory.
#pragma once

#include <vector>

#include "base/private_copy.h"
#include "halyard/driver/model.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"

namespace halyard::cpu {

// The constants that are in memory when a model's plan has been made: all, with those that are made
// of others (ExecutionPlan::folded), or only the small ones.
enum class ConstantReading { ALL, LARGE_LATER };

// A constant whose bytes are zeros in a pool's copy, until base/private_copy.h's readIntoCopy
// brings them. No other constant has any of its bytes, unless it has them all.
struct LaterConstant {
  size_t pool = 0;
  ByteRange bytes;  // of the pool
};

struct ConstantPools {
  std::vector<Mapping> mappings;  // by pool; every constant lies where the pool has it
  std::vector<LaterConstant> later;
};

// Of files that could become shorter, which would end a process that reads their mapping, it is
// private memory with a copy of the constants and of nothing else; with LARGE_LATER, without large
// ones of the main subgraph whose values say nothing of shapes. UNMAPPABLE when a pool may not be
// read, or is too short.
Result<ConstantPools> mapConstantPools(const Model& model,
                                       ConstantReading reading = ConstantReading::ALL);

// Whether kernels may read values of the type as sizes and indices.
bool mayBeIndices(OperandType type);

}  // namespace halyard::cpu

// The pools of a model as memory that can be read for as long as it is mapped.
// Thread safety: a pure function. Ownership: the mappings own their memory.
#pragma once

#include <vector>

#include "base/private_copy.h"
#include "halyard/driver/model.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"

namespace halyard::cpu {

// The constants that are in memory when a model's plan is complete. ALL includes constants computed
// from others (ExecutionPlan::folded). LARGE_LATER leaves large constants for later.
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

// Maps the pools of a model's constants. A file that can become shorter is not mapped, because a
// read behind its end would end the process. The constants are copied to private memory then. With
// LARGE_LATER the copy leaves out large constants of the main subgraph that determine no shapes.
// UNMAPPABLE when a pool may not be read, or is too short.
Result<ConstantPools> mapConstantPools(const Model& model,
                                       ConstantReading reading = ConstantReading::ALL);

// Whether kernels may read values of the type as sizes and indices.
bool mayBeIndices(OperandType type);

}  // namespace halyard::cpu

// Maps the pools of a model, so that they are readable while the mapping lives.
// Thread safety: a pure function.
// Ownership: the mappings own their memory.
#pragma once

#include <vector>

#include "base/private_copy.h"
#include "halyard/driver/model.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"

namespace halyard::cpu {

// The constants that exist when a plan has been made. ALL: all. FOLDED_LATER: all of the model, but
// not those folded from them (ExecutionPlan::folded). LARGE_LATER: only the small ones of the
// model.
enum class ConstantReading { ALL, FOLDED_LATER, LARGE_LATER };

// A constant whose bytes are zeros in a pool's copy until readIntoCopy (base/private_copy.h) reads
// them. Another constant either shares all of its bytes or none.
struct LaterConstant {
  size_t pool = 0;
  ByteRange bytes;  // range in the pool
};

struct ConstantPools {
  std::vector<Mapping> mappings;  // by pool; constants keep their offsets in the pool
  std::vector<LaterConstant> later;
};

// Maps the pools. If a file could become shorter, a read of its mapping would end the process. Its
// pool is then private memory with a copy of the constants only. With LARGE_LATER, the copy leaves
// out large constants of the main subgraph whose values do not affect shapes. Returns UNMAPPABLE
// when a pool is not readable or too short.
Result<ConstantPools> mapConstantPools(const Model& model,
                                       ConstantReading reading = ConstantReading::ALL);

// Returns whether kernels may read values of the type as sizes and indices.
bool mayBeIndices(OperandType type);

}  // namespace halyard::cpu

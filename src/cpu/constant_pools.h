// The pools of a model as memory that can be read for as long as it is mapped.
// Thread safety: a pure function. Ownership: the mappings own their memory.
#pragma once

#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"

namespace halyard::cpu {

// One for each pool, in which every constant lies where the pool has it. Of files that could become
// shorter, which would end a process that reads their mapping, it is private memory with a copy of
// the constants and of nothing else. UNMAPPABLE when a pool may not be read, or is too short.
Result<std::vector<Mapping>> mapConstantPools(const Model& model);

}  // namespace halyard::cpu

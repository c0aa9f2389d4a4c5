// Models on the wire.
// Thread safety: loop thread only, except for the plain DecodedModel.
// Ownership: results own their data.
#pragma once

#include <vector>

#include "hal/checks/model_import.h"
#include "hal/types.capnp.h"
#include "hal/wire/wire_memory.h"

namespace halyard::hal {

// Larger operandValues of a model travel in shared memory.
inline constexpr size_t kMaxInlineConstants = 64 * 1024;

// Returns a pool with the model's operandValues when they are too large for the message, else null.
Result<SharedMemoryPtr> shareLargeConstants(const Model& model);

// Estimates the number of words that encodeModel writes, rather too many than too few. A message of
// that size has one segment, which is faster to write, send and read than several.
uint64_t estimateWords(const Model& model, const SharedMemoryPtr& constants);

// Writes `model`, including numbers of consumers. With `constants` (see shareLargeConstants), every
// CONSTANT_COPY becomes a CONSTANT_REFERENCE to it, as the last pool.
void encodeModel(const Model& model, const SharedMemoryPtr& constants, wire::Model::Builder to);

// Reads a model from a call of `version`; older versions have fewer fields. Leaves out the pools,
// which decodeMemories takes. Returns BAD_DATA for values that the C++ types cannot hold, and for
// numbers above the limits. importModel checks everything else.
Result<DecodedModel> decodeModel(wire::Model::Reader from, HalVersion version);

}  // namespace halyard::hal

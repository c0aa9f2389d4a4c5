// Models on the wire.
// Thread safety: loop thread only, but for the plain DecodedModel.
// Ownership: results own their data.
#pragma once

#include <vector>

#include "hal/checks/model_import.h"
#include "hal/types.capnp.h"
#include "hal/wire/wire_memory.h"

namespace halyard::hal {

// Models whose operandValues are larger travel with them in shared memory.
inline constexpr size_t kMaxInlineConstants = 64 * 1024;

// A pool with the model's operandValues when they are too large to go into the message, else null.
Result<SharedMemoryPtr> shareLargeConstants(const Model& model);

// About how many words encodeModel writes, rather more than less: a message made for so many has
// one segment, which is written, sent and read faster than several.
uint64_t estimateWords(const Model& model, const SharedMemoryPtr& constants);

// Writes `model`, numbers of consumers included. With `constants` (see shareLargeConstants) every
// CONSTANT_COPY becomes a CONSTANT_REFERENCE to it, as the last pool.
void encodeModel(const Model& model, const SharedMemoryPtr& constants, wire::Model::Builder to);

// Reads a model that came with a method of `version`, whose older ones have fewer fields. The pools
// are left out: decodeMemories takes them. BAD_DATA for values that the C++ types cannot hold and
// for absurd numbers of things; everything else is for importModel to check.
Result<DecodedModel> decodeModel(wire::Model::Reader from, HalVersion version);

}  // namespace halyard::hal

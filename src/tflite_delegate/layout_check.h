// Compares what an interpreter passes with the layouts in abi.h.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "halyard/driver/status.h"
#include "tflite_delegate/abi.h"

namespace halyard::tflite {

// The bytes of one element; 0 for types whose elements have no fixed size, or less than a byte.
size_t elementBytes(LiteType type);

// Checks the graph that the context describes: its tensors, and the nodes of its plan. Call it in
// the delegate's `prepare`. BAD_DATA names the first field that cannot be right. The interpreter
// then has other layouts, and the delegate must not read on.
Status checkLayout(LiteContext* context);

}  // namespace halyard::tflite

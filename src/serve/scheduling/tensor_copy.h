// Copies tensors between messages and the memory of an execution.
// Thread safety: pure functions. Ownership: arguments are borrowed.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "halyard/driver/status.h"
#include "serve/protocol/datatype.h"
#include "serve/protocol/infer.h"

namespace halyard::serve {

// Bytes of an element in the memory of NNAPI, whose integers have at most 32 bits.
size_t storedSize(Datatype datatype);

// Copies the elements of a message. Those of INT64 must have passed checkNarrow. `to` has room.
void copyIn(Datatype datatype, std::span<const uint8_t> from, std::span<uint8_t> to);
// BAD_DATA if an element of INT64 needs more than 32 bits.
Status checkNarrow(Datatype datatype, std::span<const uint8_t> bytes);
// Appends the elements in the form of a message.
void copyOut(Datatype datatype, std::span<const uint8_t> from, std::string& to);

// Replaces the values by the `classes` best of each row: "value:index" or "value:index:label", as
// BYTES [rows, classes]. `shape[0]` is the number of rows if `batches`. BAD_DATA for types that
// have no order.
Status classify(OutputTensor& output, uint32_t classes, std::span<const std::string> labels,
                bool batches);

}  // namespace halyard::serve

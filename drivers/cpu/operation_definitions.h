// The definitions of the API's operations, by the functions that ops.inc names for them.
// Thread safety: pure functions. Ownership: definitions are static.
#pragma once

#include "ops/operation.h"

namespace halyard::ops {
#define HALYARD_OPERATION(code, name, definition) const OperationDefinition& definition();
#include "ops/ops.inc"
#undef HALYARD_OPERATION
}  // namespace halyard::ops

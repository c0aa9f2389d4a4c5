// The definitions of operations, by the functions that ops.inc and tflite_ops.inc name for them.
// Thread safety: pure functions. Ownership: definitions are static.
#pragma once

#include "ops/operation.h"

namespace halyard::ops {
#define HALYARD_OPERATION(code, name, definition) const OperationDefinition& definition();
#include "halyard/driver/ops.inc"
#include "halyard/driver/tflite_ops.inc"
#undef HALYARD_OPERATION
}  // namespace halyard::ops

namespace halyard::cpudriver {

using DefinitionFunction = const ops::OperationDefinition& (*)();

// Whether `definition` is what `function`, one of the above, returns. Calls no function to find
// out that it is not: a definition is made when it is asked for first, and those of all operations
// are much memory, and much code that is touched.
bool isDefinedBy(const ops::OperationDefinition& definition, DefinitionFunction function);

}  // namespace halyard::cpudriver

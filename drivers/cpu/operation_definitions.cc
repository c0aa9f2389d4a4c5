#include "operation_definitions.h"

#include "halyard/driver/nnapi_types.h"

namespace halyard::cpudriver {
namespace {

// By code: the lists are ascending and without gaps.
constexpr DefinitionFunction kFunctions[] = {
#define HALYARD_OPERATION(code, name, definition) ops::definition,
#include "halyard/driver/ops.inc"
#undef HALYARD_OPERATION
};
constexpr DefinitionFunction kTfliteFunctions[] = {
#define HALYARD_OPERATION(code, name, definition) ops::definition,
#include "halyard/driver/tflite_ops.inc"
#undef HALYARD_OPERATION
};

// Null for an operation that has no definition.
DefinitionFunction functionOf(OperationType type) {
  const auto code = static_cast<uint32_t>(type);
  if (isBaseOperation(type)) return kFunctions[code];
  return isTfliteOperation(type) ? kTfliteFunctions[code & 0xffff] : nullptr;
}

}  // namespace

bool isDefinedBy(const ops::OperationDefinition& definition, DefinitionFunction function) {
  return functionOf(definition.type) == function && &definition == &function();
}

}  // namespace halyard::cpudriver

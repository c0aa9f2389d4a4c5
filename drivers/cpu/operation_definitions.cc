#include "operation_definitions.h"

#include "halyard/driver/nnapi_types.h"

namespace halyard::cpudriver {
namespace {

// By code: ops.inc is ascending and without gaps.
constexpr DefinitionFunction kFunctions[] = {
#define HALYARD_OPERATION(code, name, definition) ops::definition,
#include "ops/ops.inc"
#undef HALYARD_OPERATION
};

}  // namespace

bool isDefinedBy(const ops::OperationDefinition& definition, DefinitionFunction function) {
  return isBaseOperation(definition.type) &&
         kFunctions[static_cast<size_t>(definition.type)] == function && &definition == &function();
}

}  // namespace halyard::cpudriver

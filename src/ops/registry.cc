// The list of operation definitions, from ops.inc.
#include <array>

#include "ops/operation.h"

namespace halyard::ops {

#define HALYARD_OPERATION(code, name, definition) const OperationDefinition& definition();
#include "ops/ops.inc"
#undef HALYARD_OPERATION

namespace {

using DefinitionFunction = const OperationDefinition& (*)();

constexpr DefinitionFunction kDefinitions[] = {
#define HALYARD_OPERATION(code, name, definition) definition,
#include "ops/ops.inc"
#undef HALYARD_OPERATION
};

// The tables above are indexed by code, so ops.inc must be ascending and without gaps.
constexpr int kCodes[] = {
#define HALYARD_OPERATION(code, name, definition) code,
#include "ops/ops.inc"
#undef HALYARD_OPERATION
};
constexpr bool codesAreDense() {
  int expected = 0;
  for (int code : kCodes) {
    if (code != expected++) return false;
  }
  return true;
}
static_assert(codesAreDense(), "ops.inc must be ascending by code and without gaps");

}  // namespace

const OperationDefinition* definitionOf(OperationType type) {
  if (!isBaseOperation(type)) return nullptr;
  return &kDefinitions[static_cast<size_t>(type)]();
}

}  // namespace halyard::ops

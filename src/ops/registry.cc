// The lists of operation definitions, from ops.inc and tflite_ops.inc.
#include <span>

#include "ops/operation.h"

namespace halyard::ops {

#define HALYARD_OPERATION(code, name, definition) const OperationDefinition& definition();
#include "halyard/driver/ops.inc"
#include "halyard/driver/tflite_ops.inc"
#undef HALYARD_OPERATION

namespace {

using DefinitionFunction = const OperationDefinition& (*)();

constexpr DefinitionFunction kDefinitions[] = {
#define HALYARD_OPERATION(code, name, definition) definition,
#include "halyard/driver/ops.inc"
#undef HALYARD_OPERATION
};
constexpr DefinitionFunction kTfliteDefinitions[] = {
#define HALYARD_OPERATION(code, name, definition) definition,
#include "halyard/driver/tflite_ops.inc"
#undef HALYARD_OPERATION
};

// The code indexes the tables above, so the lists must be ascending and without gaps.
constexpr int kCodes[] = {
#define HALYARD_OPERATION(code, name, definition) code,
#include "halyard/driver/ops.inc"
#undef HALYARD_OPERATION
};
constexpr int kTfliteCodes[] = {
#define HALYARD_OPERATION(code, name, definition) code,
#include "halyard/driver/tflite_ops.inc"
#undef HALYARD_OPERATION
};
constexpr int kFirstTfliteCode = int{kTfliteExtensionPrefix} << 16;
constexpr bool areDense(std::span<const int> codes, int first) {
  for (int code : codes) {
    if (code != first++) return false;
  }
  return true;
}
static_assert(areDense(kCodes, 0), "ops.inc must be ascending by code and without gaps");
static_assert(areDense(kTfliteCodes, kFirstTfliteCode),
              "tflite_ops.inc must be ascending by code and without gaps");

}  // namespace

const OperationDefinition* definitionOf(OperationType type) {
  if (isBaseOperation(type)) return &kDefinitions[static_cast<size_t>(type)]();
  if (!isTfliteOperation(type)) return nullptr;
  return &kTfliteDefinitions[static_cast<int>(type) - kFirstTfliteCode]();
}

}  // namespace halyard::ops

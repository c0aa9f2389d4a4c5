// WHERE of the extension halyard.tflite: the coordinates of the elements that are not zero.
#include <cstddef>
#include <cstdint>

#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// Calls found(i) for each element i that is not zero.
template <typename T, typename Found>
void forEachOf(const Tensor& input, Found found) {
  const T* elements = input.as<T>();
  const size_t count = input.elementCount();
  for (size_t i = 0; i < count; ++i) {
    if (elements[i] != 0) found(i);
  }
}

template <typename Found>
void forEachNonZero(const Tensor& input, Found found) {
  switch (input.type) {
    case OperandType::TENSOR_BOOL8:
      return forEachOf<uint8_t>(input, found);
    case OperandType::TENSOR_INT32:
      return forEachOf<int32_t>(input, found);
    default:
      return forEachOf<float>(input, found);
  }
}

// The number of results depends on the values.
Status infer(OperationContext& context) {
  const Tensor& input = context.input(0);
  if (input.rank() == 0) return opFailed("input has rank 0, expected 1 or more");
  if (input.data == nullptr) {
    return makeStatus(ResultCode::INCOMPLETE, "the value of input 0 is not known yet");
  }
  uint32_t count = 0;
  forEachNonZero(input, [&](size_t) { ++count; });
  context.output(0).dims = {count, static_cast<uint32_t>(input.rank())};
  return okStatus();
}

Status compute(OperationContext& context) {
  const Tensor& input = context.input(0);
  const Shape& dims = input.dims;
  auto* to = context.output(0).as<int32_t>();
  forEachNonZero(input, [&](size_t i) {
    for (size_t d = dims.size(); d-- > 0;) {
      to[d] = static_cast<int32_t>(i % dims[d]);
      i /= dims[d];
    }
    to += dims.size();
  });
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::WHERE;
  definition.signature.rows = singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL3},
                                              {OperandType::TENSOR_INT32, FeatureLevel::FL3},
                                              {OperandType::TENSOR_BOOL8, FeatureLevel::FL3}});
  definition.signature.forms = {{"", {typed("condition", 0)}, {}}};
  definition.signature.outputs = {fixed("output", OperandType::TENSOR_INT32)};
  definition.infer = infer;
  definition.reference = compute;
  definition.precision = Precision::EXACT;
  return definition;
}

}  // namespace

const OperationDefinition& whereOperation() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops

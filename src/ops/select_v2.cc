// SELECT_V2 of the extension halyard.tflite: SELECT of three tensors that are broadcast.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/broadcast.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

constexpr size_t kInputs = 3;

Status infer(OperationContext& context) {
  Shape values;
  HALYARD_RETURN_IF_ERROR(broadcastShapes(context.input(1).dims, context.input(2).dims, &values));
  for (const size_t i : {1, 2}) {
    HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(i), context.output(0)), "input {}",
                            i);
  }
  return broadcastShapes(context.input(0).dims, values, &context.output(0).dims);
}

// Returns the distance of neighbours in each dimension of `result`: 0 where `dims` is broadcast.
std::vector<size_t> stridesIn(const Shape& dims, const Shape& result) {
  std::vector<size_t> strides(result.size(), 0);
  size_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] != 1) strides[d + result.size() - dims.size()] = stride;
    stride *= dims[d];
  }
  return strides;
}

template <typename T>
void select(OperationContext& context) {
  const Shape& dims = context.output(0).dims;
  std::array<std::vector<size_t>, kInputs> strides;
  for (size_t i = 0; i < kInputs; ++i) strides[i] = stridesIn(context.input(i).dims, dims);
  const auto* condition = context.input(0).as<uint8_t>();
  const T* x = context.input(1).as<T>();
  const T* y = context.input(2).as<T>();
  T* output = context.output(0).as<T>();
  const size_t row = dims.back();
  const size_t last = dims.size() - 1;
  const size_t rows = context.output(0).elementCount() / row;
  context.services().parallelFor(rows, kElementGrain / row + 1, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      std::array<size_t, kInputs> at = {};
      size_t rest = r;
      for (size_t d = last; d-- > 0;) {
        for (size_t i = 0; i < kInputs; ++i) at[i] += rest % dims[d] * strides[i][d];
        rest /= dims[d];
      }
      for (size_t k = 0; k < row; ++k) {
        output[r * row + k] = condition[at[0] + k * strides[0][last]] != 0
                                  ? x[at[1] + k * strides[1][last]]
                                  : y[at[2] + k * strides[2][last]];
      }
    }
  });
}

Status compute(OperationContext& context) {
  switch (elementSize(context.output(0).type)) {
    case 1:
      select<uint8_t>(context);
      break;
    case 2:
      select<uint16_t>(context);
      break;
    default:
      select<uint32_t>(context);
  }
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::SELECT_V2;
  definition.signature.rows = floatInt32AndQuant8Rows(FeatureLevel::FL3);
  definition.signature.rows.push_back({FeatureLevel::FL3, {OperandType::TENSOR_BOOL8}});
  definition.signature.forms = {
      {"", {fixed("condition", OperandType::TENSOR_BOOL8), typed("x", 0), typed("y", 0)}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& selectV2() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops

// TOPK_V2: the k largest elements of each row and their positions.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

constexpr size_t kCount = 1;

Status infer(OperationContext& context) {
  const Tensor& input = context.input(0);
  if (input.rank() == 0) return opFailed("input has rank 0, expected at least 1");
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)), "output 0");
  int32_t k = 0;
  HALYARD_RETURN_IF_ERROR(context.read(kCount, &k), "k");
  const uint32_t row = input.dims.back();
  if (k < 1 || static_cast<uint32_t>(k) > row) {
    return opFailed("k is {}, expected 1 to {} as the input is {}", k, row,
                    realShapeText(input.dims));
  }
  if (row > INT32_MAX) return opFailed("rows of {} are too long for indices of 32 bits", row);
  Shape result = input.dims;
  result.back() = static_cast<uint32_t>(k);
  context.output(0).dims = result;
  context.output(1).dims = std::move(result);
  return okStatus();
}

// Returns whether element i of the row comes before element j: larger ones first, and of equal ones
// the later. NaNs are equal to each other and come last, so this orders any values.
template <typename T>
bool comesBefore(const T* row, int32_t i, int32_t j) {
  const T a = row[i];
  const T b = row[j];
  if constexpr (std::is_floating_point_v<T>) {
    const bool aIsNumber = a == a;
    const bool bIsNumber = b == b;
    if (aIsNumber != bIsNumber) return aIsNumber;
    if (!aIsNumber) return i > j;
  }
  return a != b ? a > b : i > j;
}

// Fills `best` with the first of all indices below `length`, in order. Until the end it is a heap
// with the last of the current ones on top.
template <typename T>
void selectFromRow(const T* row, int32_t length, std::span<int32_t> best) {
  const auto before = [row](int32_t i, int32_t j) { return comesBefore(row, i, j); };
  std::iota(best.begin(), best.end(), 0);
  std::make_heap(best.begin(), best.end(), before);
  for (auto i = static_cast<int32_t>(best.size()); i < length; ++i) {
    if (!before(i, best.front())) continue;
    std::pop_heap(best.begin(), best.end(), before);
    best.back() = i;
    std::push_heap(best.begin(), best.end(), before);
  }
  std::sort_heap(best.begin(), best.end(), before);
}

template <typename T>
Status select(OperationContext& context) {
  const T* input = context.input(0).as<T>();
  T* values = context.output(0).as<T>();
  int32_t* indices = context.output(1).as<int32_t>();
  const size_t length = context.input(0).dims.back();
  const size_t k = context.output(0).dims.back();
  const size_t rows = context.input(0).elementCount() / length;
  context.services().parallelFor(rows, std::max<size_t>(1, kElementGrain / length),
                                 [=](size_t begin, size_t end) {
                                   // The indices are not in the output, because other processes may
                                   // write to it and the code reads them back.
                                   std::vector<int32_t> best(k);
                                   for (size_t r = begin; r < end; ++r) {
                                     const T* row = input + r * length;
                                     selectFromRow(row, static_cast<int32_t>(length), best);
                                     for (size_t i = 0; i < k; ++i)
                                       values[r * k + i] = row[best[i]];
                                     std::copy(best.begin(), best.end(), indices + r * k);
                                   }
                                 });
  return okStatus();
}

Status compute(OperationContext& context) {
  switch (context.input(0).type) {
    case OperandType::TENSOR_FLOAT32:
      return select<float>(context);
    case OperandType::TENSOR_INT32:
      return select<int32_t>(context);
    case OperandType::TENSOR_QUANT8_ASYMM:
      return select<uint8_t>(context);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return select<int8_t>(context);
    default:
      return badData("input is {}", operandTypeName(context.input(0).type));
  }
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::TOPK_V2;
  definition.signature.rows = floatInt32AndQuant8Rows(FeatureLevel::FL3);
  definition.signature.forms = {{"", {typed("input", 0), int32("k")}, {}}};
  definition.signature.outputs = {typed("values", 0), fixed("indices", OperandType::TENSOR_INT32)};
  definition.infer = infer;
  definition.reference = compute;
  definition.precision = Precision::EXACT;
  return definition;
}

}  // namespace

const OperationDefinition& topkV2() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops

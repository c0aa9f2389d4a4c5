// SCATTER_ND of the extension halyard.tflite: adds elements or slices to a tensor of zeros. Each
// goes to the place that a tuple of indices into the first dimensions names.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kIndices, kUpdates, kShape };

Status infer(OperationContext& context) {
  const Shape& indices = context.input(kIndices).dims;
  const Shape& updates = context.input(kUpdates).dims;
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(kShape), 1, 1, "input 2 (shape)"));
  std::span<const int32_t> shape;
  HALYARD_RETURN_IF_ERROR(context.readInts(kShape, &shape), "input 2 (shape)");
  Shape dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 1) {
      return opFailed("input 2 (shape) has {} at {}, expected at least 1", shape[i], i);
    }
    dims.push_back(static_cast<uint32_t>(shape[i]));
  }
  if (indices.empty() || indices.back() < 1 || indices.back() > dims.size()) {
    return opFailed("indices are {}, expected tuples of 1 to {}", realShapeText(indices),
                    dims.size());
  }
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), dims.begin() + static_cast<ptrdiff_t>(indices.back()),
                  dims.end());
  // A single element may have one dimension.
  if (updates != expected && !(expected.empty() && updates == Shape{1})) {
    return opFailed("updates are {}, indices {} and shape {} need {}", realShapeText(updates),
                    realShapeText(indices), realShapeText(dims), realShapeText(expected));
  }
  context.output(0).dims = std::move(dims);
  return okStatus();
}

// T: float, or uint32_t for integers, which wrap around. The order of the tuples is the order of
// the sums, so that results do not depend on threads.
template <typename T>
Status scatter(OperationContext& context) {
  std::span<const int32_t> indices;
  HALYARD_RETURN_IF_ERROR(context.readInts(kIndices, &indices), "input 0 (indices)");
  const Tensor& output = context.output(0);
  const Shape& dims = output.dims;
  const size_t length = context.input(kIndices).dims.back();
  size_t slice = 1;
  for (size_t d = length; d < dims.size(); ++d) slice *= dims[d];
  const T* from = context.input(kUpdates).as<T>();
  T* const to = context.output(0).as<T>();
  std::memset(to, 0, output.elementCount() * sizeof(T));
  for (size_t tuple = 0; tuple < indices.size() / length; ++tuple) {
    size_t place = 0;
    for (size_t d = 0; d < length; ++d) {
      const int32_t index = indices[tuple * length + d];
      if (index < 0 || static_cast<uint32_t>(index) >= dims[d]) {
        return opFailed("tuple {} of indices has {} at {}, expected 0 to {} for dimension {} of {}",
                        tuple, index, d, dims[d] - 1, d, realShapeText(dims));
      }
      place = place * dims[d] + static_cast<uint32_t>(index);
    }
    T* const target = to + place * slice;
    for (size_t i = 0; i < slice; ++i) target[i] += from[i];
    from += slice;
  }
  return okStatus();
}

Status compute(OperationContext& context) {
  const bool isInt = context.output(0).type == OperandType::TENSOR_INT32;
  return isInt ? scatter<uint32_t>(context) : scatter<float>(context);
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::SCATTER_ND;
  definition.signature.rows = singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL3},
                                              {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3},
                                              {OperandType::TENSOR_INT32, FeatureLevel::FL3}});
  definition.signature.forms = {
      {"",
       {fixed("indices", OperandType::TENSOR_INT32), typed("updates", 0), int32List("shape")},
       {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.precision = Precision::SUMS;
  return definition;
}

}  // namespace

const OperationDefinition& scatterNd() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops

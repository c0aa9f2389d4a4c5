// GATHER_ND of the extension halyard.tflite: elements or slices of a tensor. Each is selected by a
// tuple of indices into the first dimensions.
#include <algorithm>
#include <cstdint>
#include <span>

#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/small_copy.h"

namespace halyard::ops {
namespace {

constexpr size_t kIndices = 1;

// Returns the number of indices in a tuple.
Status tupleLength(const Tensor& input, const Tensor& indices, size_t* length) {
  if (input.rank() == 0 || indices.rank() == 0) {
    return opFailed("input is {} and indices {}, expected rank 1 or more of both",
                    realShapeText(input.dims), realShapeText(indices.dims));
  }
  *length = indices.dims.back();
  if (*length >= 1 && *length <= input.rank()) return okStatus();
  return opFailed("indices {} have tuples of {}, expected 1 to {}, the rank of the input {}",
                  realShapeText(indices.dims), *length, input.rank(), realShapeText(input.dims));
}

Status infer(OperationContext& context) {
  const Tensor& input = context.input(0);
  const Tensor& indices = context.input(kIndices);
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)));
  size_t length = 0;
  HALYARD_RETURN_IF_ERROR(tupleLength(input, indices, &length));
  Shape result(indices.dims.begin(), indices.dims.end() - 1);
  result.insert(result.end(), input.dims.begin() + static_cast<ptrdiff_t>(length),
                input.dims.end());
  if (result.empty()) result = {1};
  context.output(0).dims = std::move(result);
  return okStatus();
}

// Returns the start of each tuple's slice, counted in slices.
Status findSlices(const Shape& dims, std::span<const int32_t> indices, size_t length,
                  std::span<size_t> slices) {
  for (size_t tuple = 0; tuple < slices.size(); ++tuple) {
    size_t slice = 0;
    for (size_t d = 0; d < length; ++d) {
      const int32_t index = indices[tuple * length + d];
      if (index < 0 || static_cast<uint32_t>(index) >= dims[d]) {
        return opFailed("tuple {} of indices has {} at {}, expected 0 to {} for dimension {} of {}",
                        tuple, index, d, dims[d] - 1, d, realShapeText(dims));
      }
      slice = slice * dims[d] + static_cast<uint32_t>(index);
    }
    slices[tuple] = slice;
  }
  return okStatus();
}

Status compute(OperationContext& context) {
  const Tensor& input = context.input(0);
  std::span<const int32_t> indices;
  HALYARD_RETURN_IF_ERROR(context.readInts(kIndices, &indices), "input 1 (indices)");
  size_t length = 0;
  HALYARD_RETURN_IF_ERROR(tupleLength(input, context.input(kIndices), &length));
  const size_t count = indices.size() / length;
  const std::span<size_t> slices(context.scratch<size_t>(count), count);
  HALYARD_RETURN_IF_ERROR(findSlices(input.dims, indices, length, slices));
  size_t bytes = elementSize(input.type);
  for (size_t d = length; d < input.rank(); ++d) bytes *= input.dims[d];
  const auto* const from = input.as<std::byte>();
  auto* const to = context.output(0).as<std::byte>();
  constexpr size_t kBytesPerRange = 64 * 1024;
  context.services().parallelFor(count, kBytesPerRange / (bytes + 1) + 1,
                                 [&](size_t begin, size_t end) {
                                   for (size_t i = begin; i < end; ++i) {
                                     copySmall(to + i * bytes, from + slices[i] * bytes, bytes);
                                   }
                                 });
  return okStatus();
}

OperationDefinition define() {
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::GATHER_ND;
  for (const OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
                                 TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_BOOL8}) {
    const bool isSigned = type == TENSOR_QUANT8_ASYMM_SIGNED;
    definition.signature.rows.push_back({isSigned ? FeatureLevel::FL4 : FeatureLevel::FL3, {type}});
  }
  definition.signature.forms = {{"", {typed("input", 0), fixed("indices", TENSOR_INT32)}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& gatherNd() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops

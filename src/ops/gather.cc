// GATHER, EMBEDDING_LOOKUP and HASHTABLE_LOOKUP: rows of a table, by index or by key.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "ops/axis.h"
#include "ops/data_movement.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/small_copy.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// `indices` replaces the axis of `view`. The function copies element [o][indices[i]] of the input,
// which has view.inner elements.
Status copyRows(OperationContext& context, const Tensor& input, const AxisView& view,
                std::span<const int32_t> indices, std::string_view name, Tensor& output) {
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || static_cast<size_t>(indices[i]) >= view.extent) {
      return opFailed("element {} of {} is {}, expected 0 to {}", i, name, indices[i],
                      view.extent - 1);
    }
  }
  const size_t row = view.inner * elementSize(output.type);
  const auto* from = input.as<std::byte>();
  auto* to = output.as<std::byte>();
  constexpr size_t kBytesPerRange = 64 * 1024;
  context.services().parallelFor(
      view.outer * indices.size(), kBytesPerRange / (row + 1) + 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          const auto index = static_cast<size_t>(indices[i % indices.size()]);
          copySmall(to + i * row, from + (i / indices.size() * view.extent + index) * row, row);
        }
      });
  return okStatus();
}

Status readGatherAxis(const OperationContext& context, size_t* axis) {
  int32_t value = 0;
  HALYARD_RETURN_IF_ERROR(context.read(1, &value), "axis");
  return resolveAxis(value, context.input(0).rank(), axis);
}

Status inferGather(OperationContext& context) {
  const Shape& dims = context.input(0).dims;
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(0), context.output(0)));
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readGatherAxis(context, &axis));
  const auto at = dims.begin() + static_cast<ptrdiff_t>(axis);
  const Shape& indices = context.input(2).dims;
  Shape result(dims.begin(), at);
  result.insert(result.end(), indices.begin(), indices.end());
  result.insert(result.end(), at + 1, dims.end());
  context.output(0).dims = std::move(result);
  return okStatus();
}

Status computeGather(OperationContext& context) {
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readGatherAxis(context, &axis));
  std::span<const int32_t> indices;
  HALYARD_RETURN_IF_ERROR(context.readInts(2, &indices), "indices");
  const Tensor& input = context.input(0);
  return copyRows(context, input, axisView(input.dims, axis), indices, "indices",
                  context.output(0));
}

Status checkLeastRank(const Tensor& tensor, size_t least, std::string_view name) {
  if (tensor.rank() >= least) return okStatus();
  return opFailed("{} has rank {} {}, expected rank {} or more", name, tensor.rank(),
                  realShapeText(tensor.dims), least);
}

// The output has one row of the values per lookup.
Status inferRows(const Tensor& lookups, const Tensor& values, Tensor& output) {
  HALYARD_RETURN_IF_ERROR(checkRank(lookups, 1, 1, "lookups"));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(values, output));
  output.dims = values.dims;
  output.dims[0] = lookups.dims[0];
  return okStatus();
}

Status inferEmbedding(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkLeastRank(context.input(1), 2, "values"));
  return inferRows(context.input(0), context.input(1), context.output(0));
}

Status computeEmbedding(OperationContext& context) {
  std::span<const int32_t> lookups;
  HALYARD_RETURN_IF_ERROR(context.readInts(0, &lookups), "lookups");
  const Tensor& values = context.input(1);
  return copyRows(context, values, axisView(values.dims, 0), lookups, "lookups", context.output(0));
}

Status inferHashtable(OperationContext& context) {
  const Tensor& keys = context.input(1);
  const Tensor& values = context.input(2);
  Tensor& hits = context.output(1);
  HALYARD_RETURN_IF_ERROR(checkRank(keys, 1, 1, "keys"));
  HALYARD_RETURN_IF_ERROR(checkLeastRank(values, 1, "values"));
  if (keys.dims[0] != values.dims[0]) {
    return opFailed("there are {} keys, expected {}, one for each row of the values {}",
                    keys.dims[0], values.dims[0], realShapeText(values.dims));
  }
  HALYARD_RETURN_IF_ERROR(inferRows(context.input(0), values, context.output(0)));
  if (hits.scale != 1 || hits.zeroPoint != 0) {
    return opFailed("hits have scale {} and zero point {}, expected 1 and 0", hits.scale,
                    hits.zeroPoint);
  }
  hits.dims = {context.input(0).dims[0]};
  return okStatus();
}

Status computeHashtable(OperationContext& context) {
  std::span<const int32_t> lookups;
  std::span<const int32_t> keys;
  HALYARD_RETURN_IF_ERROR(context.readInts(0, &lookups), "lookups");
  HALYARD_RETURN_IF_ERROR(context.readInts(1, &keys), "keys");
  const Tensor& values = context.input(2);
  const size_t row = axisView(values.dims, 0).inner * elementSize(values.type);
  auto* to = context.output(0).as<uint8_t>();
  auto* hits = context.output(1).as<uint8_t>();
  for (int32_t lookup : lookups) {
    const auto found = std::lower_bound(keys.begin(), keys.end(), lookup);
    const bool hit = found != keys.end() && *found == lookup;
    if (hit) {
      const auto index = static_cast<size_t>(found - keys.begin());
      std::memcpy(to, values.as<uint8_t>() + index * row, row);
    } else {
      std::memset(to, 0, row);
    }
    *hits++ = hit ? 1 : 0;
    to += row;
  }
  return okStatus();
}

Signature gatherSignature() {
  Signature signature;
  signature.rows = floatInt32AndQuant8Rows(FeatureLevel::FL3);
  signature.forms = {
      {"", {typed("input", 0), int32("axis"), fixed("indices", OperandType::TENSOR_INT32)}, {}}};
  signature.outputs = {typed("output", 0)};
  return signature;
}

Signature embeddingSignature() {
  const RankRules atLeast2 = rankBetween(2, UINT8_MAX);
  Signature signature;
  signature.rows = singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL1},
                                   {OperandType::TENSOR_FLOAT16, FeatureLevel::FL4},
                                   {OperandType::TENSOR_INT32, FeatureLevel::FL3},
                                   {OperandType::TENSOR_QUANT8_ASYMM, FeatureLevel::FL3},
                                   {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, FeatureLevel::FL4}});
  signature.forms = {{"", {int32List("lookups"), typed("values", 0, atLeast2)}, {}}};
  signature.outputs = {typed("output", 0, atLeast2)};
  return signature;
}

Signature hashtableSignature() {
  Signature signature;
  signature.rows = singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL1},
                                   {OperandType::TENSOR_INT32, FeatureLevel::FL1},
                                   {OperandType::TENSOR_QUANT8_ASYMM, FeatureLevel::FL1}});
  signature.forms = {{"", {int32List("lookups"), int32List("keys"), typed("values", 0)}, {}}};
  signature.outputs = {typed("output", 0),
                       fixed("hits", OperandType::TENSOR_QUANT8_ASYMM, rank(1))};
  return signature;
}

}  // namespace

const OperationDefinition& gather() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::GATHER,      gatherSignature(),         inferGather, computeGather,
        /*acceptsZeroSized=*/false, /*float16AsFloat32=*/false};
  });
}

const OperationDefinition& embeddingLookup() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::EMBEDDING_LOOKUP, embeddingSignature(), inferEmbedding, computeEmbedding,
        /*acceptsZeroSized=*/false,
        /*float16AsFloat32=*/false};
  });
}

const OperationDefinition& hashtableLookup() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::HASHTABLE_LOOKUP, hashtableSignature(), inferHashtable, computeHashtable,
        /*acceptsZeroSized=*/false,
        /*float16AsFloat32=*/false};
  });
}

}  // namespace halyard::ops

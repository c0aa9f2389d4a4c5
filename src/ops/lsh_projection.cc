// LSH_PROJECTION: the signs of random projections of the input, one bit for each hash function.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/float16.h"
#include "base/work_limit.h"
#include "ops/farm_hash_fingerprint.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kHash, kInput, kWeight, kType };
enum class ProjectionType : int32_t { SPARSE_DEPRECATED = 1, DENSE = 2, SPARSE = 3 };
constexpr uint32_t kMaxBits = 32;  // of a signature

Status readType(const OperationContext& context, ProjectionType* type) {
  int32_t value = 0;
  HALYARD_RETURN_IF_ERROR(context.read(kType, &value), "projection type");
  if (value < 1 || value > 3) {
    return opFailed(
        "projection type is {}, expected 1 (sparse, deprecated), 2 (dense) or 3 (sparse)", value);
  }
  *type = static_cast<ProjectionType>(value);
  return okStatus();
}

Status checkWeight(const OperationContext& context, ProjectionType type) {
  if (type != ProjectionType::DENSE) {
    if (!context.hasInput(kWeight)) return okStatus();
    return opFailed("weight is given, expected none with the sparse projection type {}",
                    static_cast<int32_t>(type));
  }
  if (!context.hasInput(kWeight))
    return opFailed("weight is omitted, but a dense projection needs it");
  const uint32_t rows = context.input(kInput).dims[0];
  if (context.input(kWeight).dims == Shape{rows}) return okStatus();
  return opFailed("weight has shape {}, expected [{}] as the input is {}",
                  realShapeText(context.input(kWeight).dims), rows,
                  realShapeText(context.input(kInput).dims));
}

Status infer(OperationContext& context) {
  const Shape& hash = context.input(kHash).dims;
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(kHash), 2, 2, "hash"));
  if (hash[1] > kMaxBits) {
    return opFailed("hash has shape {}, expected at most {} bits for each function",
                    realShapeText(hash), kMaxBits);
  }
  if (context.input(kInput).rank() == 0) return opFailed("input has rank 0, expected at least 1");
  if (context.input(kInput).elementCount() == 0) {
    return opFailed("input is zero-sized {}", realShapeText(context.input(kInput).dims));
  }
  ProjectionType type;
  HALYARD_RETURN_IF_ERROR(readType(context, &type));
  HALYARD_RETURN_IF_ERROR(checkWeight(context, type));
  const uint64_t size = type == ProjectionType::DENSE ? uint64_t{hash[0]} * hash[1] : hash[0];
  if (size > UINT32_MAX) return opFailed("hash {} is too large", realShapeText(hash));
  context.output(0).dims = {static_cast<uint32_t>(size)};
  return okStatus();
}

float elementOf(const Tensor& tensor, size_t i) {
  return tensor.type == OperandType::TENSOR_FLOAT16 ? toFloat(tensor.as<Float16>()[i])
                                                    : tensor.as<float>()[i];
}

// Returns, for each bit of each function, the sum of the rows' weighted fingerprints. Its sign is
// the bit.
std::span<const double> project(OperationContext& context) {
  const Tensor& hash = context.input(kHash);
  const Tensor& input = context.input(kInput);
  const std::span<double> sums(context.scratch<double>(hash.elementCount()), hash.elementCount());
  std::fill(sums.begin(), sums.end(), 0.0);
  const size_t rows = input.dims[0];
  const size_t rowBytes = input.elementCount() / rows * elementSize(input.type);
  // The hashed bytes are the function's seed and then the row, both in memory layout.
  const std::span<uint8_t> key(context.scratch<uint8_t>(sizeof(float) + rowBytes),
                               sizeof(float) + rowBytes);
  for (size_t row = 0; row < rows; ++row) {
    checkWorkLimit();
    std::memcpy(&key[sizeof(float)], input.as<uint8_t>() + row * rowBytes, rowBytes);
    const double weight =
        context.hasInput(kWeight) ? static_cast<double>(elementOf(context.input(kWeight), row)) : 1;
    for (size_t i = 0; i < sums.size(); ++i) {
      const float seed = elementOf(hash, i);
      std::memcpy(key.data(), &seed, sizeof(seed));
      sums[i] += weight * static_cast<double>(static_cast<int64_t>(fingerprint64(key)));
    }
  }
  return sums;
}

Status compute(OperationContext& context) {
  ProjectionType type;
  HALYARD_RETURN_IF_ERROR(readType(context, &type));
  const size_t functions = context.input(kHash).dims[0];
  const size_t bits = context.input(kHash).dims[1];
  const std::span<const double> sums = project(context);
  int32_t* output = context.output(0).as<int32_t>();
  if (type == ProjectionType::DENSE) {
    for (size_t i = 0; i < sums.size(); ++i) output[i] = sums[i] > 0 ? 1 : 0;
    return okStatus();
  }
  for (size_t i = 0; i < functions; ++i) {
    uint64_t signature = type == ProjectionType::SPARSE ? i : 0;
    for (size_t j = 0; j < bits; ++j) {
      signature = (signature << 1) | (sums[i * bits + j] > 0 ? 1u : 0u);
    }
    output[i] = static_cast<int32_t>(static_cast<uint32_t>(signature));
  }
  return okStatus();
}

// Level 3 introduced the type SPARSE. A model shows the type if it is a constant.
Status raiseLevelForSparse(const OperationView& operation, FeatureLevel& level) {
  const Operand& type = operation.input(kType);
  const std::vector<uint8_t>& values = operation.model().operandValues;
  int32_t value = 0;
  if (type.lifetime != Lifetime::CONSTANT_COPY ||
      uint64_t{type.location.offset} + sizeof(value) > values.size()) {
    return okStatus();
  }
  std::memcpy(&value, values.data() + type.location.offset, sizeof(value));
  if (value == static_cast<int32_t>(ProjectionType::SPARSE)) {
    level = std::max(level, FeatureLevel::FL3);
  }
  return okStatus();
}

// Combines any type of hash functions (and weights) with any type of input.
std::vector<TypeRow> rows() {
  using enum FeatureLevel;
  using enum OperandType;
  std::vector<TypeRow> result;
  for (const TypeRow& hash : {TypeRow{FL1, {TENSOR_FLOAT32}}, TypeRow{FL3, {TENSOR_FLOAT16}}}) {
    for (const TypeRow& input :
         {TypeRow{FL1, {TENSOR_FLOAT32}}, TypeRow{FL3, {TENSOR_FLOAT16}},
          TypeRow{FL1, {TENSOR_INT32}}, TypeRow{FL1, {TENSOR_QUANT8_ASYMM}}}) {
      result.push_back({std::max(hash.since, input.since), {hash.types[0], input.types[0]}});
    }
  }
  return result;
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::LSH_PROJECTION;
  definition.signature.rows = rows();
  definition.signature.forms = {{"",
                                 // The weight's dimensions have no meaning unless it has a value.
                                 {typed("hash", 0, rank(2)), typed("input", 1),
                                  typed("weight", 0).orOmitted(), int32("projection type")},
                                 {}}};
  definition.signature.outputs = {fixed("output", OperandType::TENSOR_INT32)};
  definition.signature.check = raiseLevelForSparse;
  definition.infer = infer;
  definition.reference = compute;
  // The operation hashes the stored bytes.
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& lshProjection() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops

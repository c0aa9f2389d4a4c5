// PAD: a border of zeros (real 0) around a tensor.
#include <cstdint>
#include <cstring>
#include <span>

#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

Status infer(OperationContext& context) {
  const Tensor& input = context.input(0);
  HALYARD_RETURN_IF_ERROR(checkRank(input, 1, 4, "input"));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)));
  const Shape& dims = context.input(1).dims;
  if (dims.size() != 2 || dims[0] != input.rank() || dims[1] != 2) {
    return opFailed("paddings have shape {}, expected [{},2] for an input of rank {}",
                    realShapeText(dims), input.rank(), input.rank());
  }
  std::span<const int32_t> paddings;
  HALYARD_RETURN_IF_ERROR(context.readInts(1, &paddings), "paddings");
  Shape result(input.rank());
  for (size_t d = 0; d < result.size(); ++d) {
    const int64_t before = paddings[2 * d];
    const int64_t after = paddings[2 * d + 1];
    if (before < 0 || after < 0) {
      return opFailed("paddings of dimension {} are {} and {}, expected 0 or more", d, before,
                      after);
    }
    const int64_t size = before + input.dims[d] + after;
    if (size > UINT32_MAX) return opFailed("dimension {} of the output would be {}", d, size);
    result[d] = static_cast<uint32_t>(size);
  }
  context.output(0).dims = std::move(result);
  return okStatus();
}

// One level of nested borders, in bytes. Levels inside the last padded dimension form one run.
struct Level {
  size_t before;
  size_t after;
  size_t count;  // parts of the next level between the borders; in the innermost: bytes
};

// Writes one block of `levels` and returns the ends of what was written and read.
struct Cursor {
  uint8_t* to;
  const uint8_t* from;
};
Cursor writePadded(std::span<const Level> levels, Cursor at, uint8_t fill) {
  const Level& level = levels.front();
  std::memset(at.to, fill, level.before);
  at.to += level.before;
  if (levels.size() == 1) {
    std::memcpy(at.to, at.from, level.count);
    at.to += level.count;
    at.from += level.count;
  } else {
    for (size_t i = 0; i < level.count; ++i) at = writePadded(levels.subspan(1), at, fill);
  }
  std::memset(at.to, fill, level.after);
  at.to += level.after;
  return at;
}

Status compute(OperationContext& context) {
  const Tensor& input = context.input(0);
  Tensor& output = context.output(0);
  std::span<const int32_t> paddings;
  HALYARD_RETURN_IF_ERROR(context.readInts(1, &paddings), "paddings");
  // From the innermost dimension out: `unit` is the size of one element of dimension d.
  std::vector<Level> levels;
  size_t unit = elementSize(output.type);
  for (size_t d = output.rank(); d-- > 0;) {
    const auto before = static_cast<size_t>(paddings[2 * d]);
    const auto after = static_cast<size_t>(paddings[2 * d + 1]);
    if (levels.empty()) {
      levels.push_back({before * unit, after * unit, input.dims[d] * unit});
    } else if (levels.size() == 1 && levels[0].before == 0 && levels[0].after == 0) {
      levels[0] = {before * unit, after * unit, input.dims[d] * levels[0].count};
    } else {
      levels.push_back({before * unit, after * unit, input.dims[d]});
    }
    unit *= output.dims[d];
  }
  const std::vector<Level> outermostFirst(levels.rbegin(), levels.rend());
  // Real 0 is all bits zero in floats of either size, and a single byte in quantised types.
  const auto fill =
      isQuant8Asymm(output.type) ? static_cast<uint8_t>(output.zeroPoint) : uint8_t{0};
  writePadded(outermostFirst, {output.as<uint8_t>(), input.as<uint8_t>()}, fill);
  return okStatus();
}

// Padding with another stored value than 0 came with level 3.
Status checkZeroPoint(const OperationView& operation, FeatureLevel& level) {
  if (isQuant8Asymm(operation.input(0).type) && operation.input(0).zeroPoint != 0) {
    level = std::max(level, FeatureLevel::FL3);
  }
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::PAD;
  definition.signature = {
      .rows = floatAndQuant8Rows(FeatureLevel::FL2),
      .forms = {{"",
                 {typed("input", 0, rankBetween(1, 4)),
                  fixed("paddings", OperandType::TENSOR_INT32)},
                 {}}},
      .outputs = {typed("output", 0)},
      .check = checkZeroPoint,
  };
  definition.infer = infer;
  definition.reference = compute;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& pad() {
  static const OperationDefinition definition = define();
  return definition;
}

}  // namespace halyard::ops

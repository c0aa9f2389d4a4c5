// CONCATENATION: joins tensors along one axis; quantised ones may be requantised.
#include <cstdint>
#include <cstring>

#include "base/work_limit.h"
#include "ops/axis.h"
#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/requantize.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

size_t tensorCount(const OperationContext& context) { return context.inputCount() - 1; }

Status readAxis(const OperationContext& context, size_t rank, size_t* axis) {
  int32_t value = 0;
  HALYARD_RETURN_IF_ERROR(context.read(tensorCount(context), &value), "axis");
  if (value < 0 || static_cast<size_t>(value) >= rank) {
    return opFailed("axis is {}, expected 0 to {}", value, rank - 1);
  }
  *axis = static_cast<size_t>(value);
  return okStatus();
}

Status infer(OperationContext& context) {
  if (context.inputCount() < 2) return opFailed("there is no tensor to concatenate");
  const Tensor& first = context.input(0);
  HALYARD_RETURN_IF_ERROR(checkRank(first, 1, 4, "input 0"));
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readAxis(context, first.rank(), &axis));
  uint64_t extent = 0;
  for (size_t i = 0; i < tensorCount(context); ++i) {
    const Shape& dims = context.input(i).dims;
    bool fits = dims.size() == first.rank();
    for (size_t d = 0; fits && d < dims.size(); ++d) fits = d == axis || dims[d] == first.dims[d];
    if (!fits) {
      return opFailed("input {} {} differs from input 0 {} in more than axis {}", i,
                      realShapeText(dims), realShapeText(first.dims), axis);
    }
    extent += dims[axis];
  }
  if (extent > UINT32_MAX) return opFailed("dimension {} of the output would be {}", axis, extent);
  context.output(0).dims = first.dims;
  context.output(0).dims[axis] = static_cast<uint32_t>(extent);
  return okStatus();
}

bool sameQuantization(const auto& a, const auto& b) {
  return a.scale == b.scale && a.zeroPoint == b.zeroPoint;
}

// Copies `outer` blocks of `block` bytes each to positions `step` bytes apart.
constexpr size_t kBytesPerChunk = 65536;

void copyBlocks(const uint8_t* from, uint8_t* to, size_t outer, size_t block, size_t step) {
  if (outer == 1) {
    return forEachChunk(0, block, kBytesPerChunk, [&](size_t begin, size_t end) {
      std::memcpy(to + begin, from + begin, end - begin);
    });
  }
  forEachChunk(0, outer, kBytesPerChunk / block + 1, [&](size_t begin, size_t end) {
    for (size_t o = begin; o < end; ++o) std::memcpy(to + o * step, from + o * block, block);
  });
}

void requantizeBlocks(const Tensor& input, const Tensor& output, uint8_t* to, size_t outer,
                      size_t block, size_t step) {
  const ByteTable table = requantizeTable(input, output);
  forEachChunk(0, outer, kBytesPerChunk / block + 1, [&](size_t begin, size_t end) {
    for (size_t o = begin; o < end; ++o) {
      lookUp(table, input.as<uint8_t>() + o * block, to + o * step, block);
    }
  });
}

Status compute(OperationContext& context) {
  Tensor& output = context.output(0);
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readAxis(context, output.rank(), &axis));
  const AxisView view = axisView(output.dims, axis);
  const size_t unit = view.inner * elementSize(output.type);
  auto* to = output.as<uint8_t>();
  for (size_t i = 0; i < tensorCount(context); ++i) {
    const Tensor& input = context.input(i);
    const size_t block = input.dims[axis] * unit;
    if (block == 0) continue;
    if (isQuant8Asymm(output.type) && !sameQuantization(input, output)) {
      requantizeBlocks(input, output, to, view.outer, block, view.extent * unit);
    } else {
      copyBlocks(input.as<uint8_t>(), to, view.outer, block, view.extent * unit);
    }
    to += block;
  }
  return okStatus();
}

// Level 3 introduced inputs with different quantisations.
Status checkQuantization(const OperationView& operation, FeatureLevel& level) {
  if (!isQuant8Asymm(operation.output(0).type)) return okStatus();
  for (size_t i = 0; i + 1 < operation.inputCount(); ++i) {
    if (!sameQuantization(operation.input(i), operation.output(0))) {
      level = std::max(level, FeatureLevel::FL3);
    }
  }
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::CONCATENATION;
  definition.signature = {
      .rows = floatAndQuant8Rows(FeatureLevel::FL1),
      .forms = {{.name = "",
                 .inputs = {typed("input", 0, rankBetween(1, 4)), int32("axis")},
                 .counts = {},
                 .repeated = 0}},
      .outputs = {typed("output", 0, rankBetween(1, 4))},
      .check = checkQuantization,
  };
  definition.infer = infer;
  definition.reference = compute;
  definition.precision = Precision::ROUNDED;
  definition.acceptsZeroSized = true;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& concatenation() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops

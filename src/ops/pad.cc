// PAD, PAD_V2 and MIRROR_PAD: a border of zeros (real 0), of a given value, or of the tensor's own
// elements.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "ops/data_movement.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/requantize.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// Elements before and after each dimension, in turn.
Status readPaddings(const OperationContext& context, std::span<const int32_t>* paddings) {
  const Shape shape = {static_cast<uint32_t>(context.input(0).rank()), 2};
  return readIntsOfShape(context, 1, shape, "paddings", paddings);
}

// `limit` gives the most that a dimension of a certain size may be padded by.
template <typename Limit>
Status inferPadded(OperationContext& context, Limit limit) {
  const Tensor& input = context.input(0);
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)));
  std::span<const int32_t> paddings;
  HALYARD_RETURN_IF_ERROR(readPaddings(context, &paddings));
  Shape result(input.rank());
  for (size_t d = 0; d < result.size(); ++d) {
    const int64_t before = paddings[2 * d];
    const int64_t after = paddings[2 * d + 1];
    const int64_t most = limit(int64_t{input.dims[d]});
    if (before < 0 || after < 0) {
      return opFailed("paddings of dimension {} are {} and {}, expected 0 or more", d, before,
                      after);
    }
    if (before > most || after > most) {
      return opFailed("paddings of dimension {} of the input {} are {} and {}, expected 0 to {}", d,
                      realShapeText(input.dims), before, after, most);
    }
    const int64_t size = before + input.dims[d] + after;
    HALYARD_RETURN_IF_ERROR(setDimension(d, static_cast<uint64_t>(size), &result));
  }
  context.output(0).dims = std::move(result);
  return okStatus();
}

Status inferPad(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 1, 4, "input"));
  return inferPadded(context, [](int64_t) { return INT64_MAX; });
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
template <typename Fill>  // void(uint8_t* to, size_t bytes)
Cursor writePadded(std::span<const Level> levels, Cursor at, const Fill& fill) {
  const Level& level = levels.front();
  fill(at.to, level.before);
  at.to += level.before;
  if (levels.size() == 1) {
    std::memcpy(at.to, at.from, level.count);
    at.to += level.count;
    at.from += level.count;
  } else {
    for (size_t i = 0; i < level.count; ++i) at = writePadded(levels.subspan(1), at, fill);
  }
  fill(at.to, level.after);
  at.to += level.after;
  return at;
}

template <typename Fill>
Status writeBorder(OperationContext& context, const Fill& fill) {
  const Tensor& input = context.input(0);
  Tensor& output = context.output(0);
  std::span<const int32_t> paddings;
  HALYARD_RETURN_IF_ERROR(readPaddings(context, &paddings));
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
  writePadded(outermostFirst, {output.as<uint8_t>(), input.as<uint8_t>()}, fill);
  return okStatus();
}

Status computePad(OperationContext& context) {
  return writeBorder(context, [byte = zeroByte(context.input(0))](uint8_t* to, size_t bytes) {
    std::memset(to, byte, bytes);
  });
}

// The bytes of the element that fills the border.
using ElementBytes = std::array<uint8_t, 4>;

Status readPadValue(const OperationContext& context, ElementBytes* bytes) {
  const Tensor& value = context.input(2);
  const OperandType type = context.input(0).type;
  if (isQuant8Asymm(type)) {
    int32_t stored = 0;
    HALYARD_RETURN_IF_ERROR(context.read(2, &stored), "pad value");
    const ClampRange<int32_t> range = quantizedRange(type);
    if (stored < range.min || stored > range.max) {
      return opFailed("pad value is {}, expected {} to {}", stored, range.min, range.max);
    }
    (*bytes)[0] = static_cast<uint8_t>(stored);
    return okStatus();
  }
  float number = 0;
  HALYARD_RETURN_IF_ERROR(context.read(2, &number), "pad value");
  // As it is stored, so that a NaN keeps its bits too.
  std::memcpy(bytes->data(), value.data, elementSize(value.type));
  return okStatus();
}

Status inferPadV2(OperationContext& context) {
  ElementBytes ignored;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readPadValue(context, &ignored)));
  return inferPad(context);
}

template <typename T>
Status writeBorderOf(OperationContext& context, const ElementBytes& bytes) {
  T element;
  std::memcpy(&element, bytes.data(), sizeof(element));
  return writeBorder(context, [element](uint8_t* to, size_t size) {
    std::fill_n(reinterpret_cast<T*>(to), size / sizeof(element), element);
  });
}

Status computePadV2(OperationContext& context) {
  ElementBytes bytes = {};
  HALYARD_RETURN_IF_ERROR(readPadValue(context, &bytes));
  switch (elementSize(context.output(0).type)) {
    case 1:
      return writeBorderOf<uint8_t>(context, bytes);
    case 2:
      return writeBorderOf<uint16_t>(context, bytes);
    default:
      return writeBorderOf<uint32_t>(context, bytes);
  }
}

// How many of the elements next to the edge the mirror leaves out.
Status readMirrorMode(const OperationContext& context, int64_t* leftOut) {
  constexpr int32_t kReflect = 0;
  constexpr int32_t kSymmetric = 1;
  int32_t mode = 0;
  HALYARD_RETURN_IF_ERROR(context.read(2, &mode), "mode");
  if (mode != kReflect && mode != kSymmetric) {
    return opFailed("mode is {}, expected {} (reflect) or {} (symmetric)", mode, kReflect,
                    kSymmetric);
  }
  *leftOut = mode == kReflect ? 1 : 0;
  return okStatus();
}

Status inferMirrorPad(OperationContext& context) {
  int64_t leftOut = 0;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readMirrorMode(context, &leftOut)));
  return inferPadded(context, [leftOut](int64_t size) { return size - leftOut; });
}

// The input goes to the middle; then each dimension, from the innermost out, gets its borders from
// what is there already.
Status computeMirrorPad(OperationContext& context) {
  const Tensor& input = context.input(0);
  const Tensor& output = context.output(0);
  int64_t leftOut = 0;
  HALYARD_RETURN_IF_ERROR(readMirrorMode(context, &leftOut));
  std::span<const int32_t> paddings;
  HALYARD_RETURN_IF_ERROR(readPaddings(context, &paddings));
  const size_t rank = input.rank();
  const std::vector<ptrdiff_t> from = rowMajorStrides(input.dims);
  const std::vector<ptrdiff_t> to = rowMajorStrides(output.dims);
  ptrdiff_t start = 0;  // of the part of the output that is complete
  std::vector<CopyLoop> loops;
  for (size_t d = 0; d < rank; ++d) {
    start += paddings[2 * d] * to[d];
    loops.push_back({input.dims[d], from[d], to[d]});
  }
  copyElements(input, 0, output, static_cast<size_t>(start), loops);
  for (CopyLoop& loop : loops) loop.from = loop.to;
  for (size_t d = rank; d-- > 0; loops.pop_back()) {
    const ptrdiff_t step = to[d];
    const ptrdiff_t before = paddings[2 * d];
    const ptrdiff_t after = paddings[2 * d + 1];
    const ptrdiff_t size = input.dims[d];
    const ptrdiff_t first = start;  // element of the input's part
    start -= before * step;
    const auto mirror = [&](ptrdiff_t count, ptrdiff_t source, ptrdiff_t target) {
      if (count == 0) return;
      std::vector<CopyLoop> border(loops.begin(), loops.end() - 1);
      border.push_back({static_cast<size_t>(count), -step, step});
      border.push_back({static_cast<size_t>(step), 1, 1});
      copyElements(output, static_cast<size_t>(source), output, static_cast<size_t>(target),
                   std::move(border));
    };
    mirror(before, first + (before - 1 + leftOut) * step, start);
    mirror(after, first + (size - 1 - leftOut) * step, first + size * step);
  }
  return okStatus();
}

Signature padSignature() {
  return {
      .rows = floatAndQuant8Rows(FeatureLevel::FL2),
      .forms = {{"",
                 {typed("input", 0, rankBetween(1, 4)),
                  fixed("paddings", OperandType::TENSOR_INT32, rank(2))},
                 {}}},
      .outputs = {typed("output", 0, rankBetween(1, 4))},
      .check = checkBorderOfZeros,
  };
}

Signature padV2Signature() {
  using enum OperandType;
  using enum FeatureLevel;
  return {
      // Column 1 is the type of the pad value.
      .rows = {{FL3, {TENSOR_FLOAT32, FLOAT32}},
               {FL3, {TENSOR_FLOAT16, FLOAT16}},
               {FL3, {TENSOR_QUANT8_ASYMM, INT32}},
               {FL4, {TENSOR_QUANT8_ASYMM_SIGNED, INT32}}},
      .forms = {{"",
                 {typed("input", 0, rankBetween(1, 4)), fixed("paddings", TENSOR_INT32, rank(2)),
                  typed("pad value", 1)},
                 {}}},
      .outputs = {typed("output", 0, rankBetween(1, 4))},
  };
}

Signature mirrorPadSignature() {
  return {
      .rows = floatInt32AndQuant8Rows(FeatureLevel::FL7),
      .forms = {{"",
                 {typed("input", 0), fixed("paddings", OperandType::TENSOR_INT32, rank(2)),
                  int32("mode")},
                 {}}},
      .outputs = {typed("output", 0)},
      .check = checkOutputLikeInput,
  };
}

}  // namespace

const OperationDefinition& pad() {
  static const OperationDefinition definition = {
      OperationType::PAD,         padSignature(), inferPad, computePad,
      /*acceptsZeroSized=*/false,
      /*float16AsFloat32=*/false};
  return definition;
}

const OperationDefinition& padV2() {
  static const OperationDefinition definition = {
      OperationType::PAD_V2,      padV2Signature(),          inferPadV2, computePadV2,
      /*acceptsZeroSized=*/false, /*float16AsFloat32=*/false};
  return definition;
}

const OperationDefinition& mirrorPad() {
  static const OperationDefinition definition = {
      OperationType::MIRROR_PAD,  mirrorPadSignature(),      inferMirrorPad, computeMirrorPad,
      /*acceptsZeroSized=*/false, /*float16AsFloat32=*/false};
  return definition;
}

}  // namespace halyard::ops

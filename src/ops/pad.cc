// PAD, PAD_V2 and MIRROR_PAD: add a border of zeros (real 0), of a given value, or of the tensor's
// own elements.
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

// Reads the elements before and after each dimension, in turn.
Status readPaddings(const OperationContext& context, std::span<const int32_t>* paddings) {
  const Shape shape = {static_cast<uint32_t>(context.input(0).rank()), 2};
  return readIntsOfShape(context, 1, shape, "paddings", paddings);
}

// `limit` returns the maximum padding for the size of a dimension.
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

// One level of nested borders, in bytes. All dimensions after the last padded one form one run.
struct Level {
  size_t before;
  size_t after;
  size_t count;  // parts of the next level between the borders; in the innermost: bytes
};

// Returns the size of one block of `levels` in bytes.
size_t blockBytes(std::span<const Level> levels) {
  const Level& level = levels.front();
  const size_t part = levels.size() == 1 ? 1 : blockBytes(levels.subspan(1));
  return level.before + level.count * part + level.after;
}

// Writes the borders of all levels except the innermost.
template <typename Fill>  // void(uint8_t* to, size_t bytes)
void fillOuter(std::span<const Level> levels, uint8_t* to, const Fill& fill) {
  if (levels.size() == 1) return;
  const Level& level = levels.front();
  const size_t part = blockBytes(levels.subspan(1));
  fill(to, level.before);
  to += level.before;
  for (size_t i = 0; levels.size() > 2 && i < level.count; ++i) {
    fillOuter(levels.subspan(1), to + i * part, fill);
  }
  fill(to + level.count * part, level.after);
}

// Writes rows [begin, end) of the innermost level with their borders.
template <typename Fill>
void writeRows(std::span<const Level> levels, size_t begin, size_t end, const uint8_t* from,
               uint8_t* to, const Fill& fill) {
  const Level& inner = levels.back();
  for (size_t row = begin; row < end; ++row) {
    size_t rest = row;
    size_t part = inner.before + inner.count + inner.after;
    size_t at = 0;
    for (size_t l = levels.size() - 1; l-- > 0;) {
      at += levels[l].before + rest % levels[l].count * part;
      rest /= levels[l].count;
      part = levels[l].before + levels[l].count * part + levels[l].after;
    }
    fill(to + at, inner.before);
    std::memcpy(to + at + inner.before, from + row * inner.count, inner.count);
    fill(to + at + inner.before + inner.count, inner.after);
  }
}

template <typename Fill>
Status writeBorder(OperationContext& context, const Fill& fill) {
  const Tensor& input = context.input(0);
  Tensor& output = context.output(0);
  std::span<const int32_t> paddings;
  HALYARD_RETURN_IF_ERROR(readPaddings(context, &paddings));
  // The order is from the innermost dimension outwards: `unit` is the size of one element of
  // dimension d.
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
  const auto* from = input.as<uint8_t>();
  auto* to = output.as<uint8_t>();
  fillOuter<Fill>(outermostFirst, to, fill);
  size_t rows = 1;
  for (size_t l = 0; l + 1 < outermostFirst.size(); ++l) rows *= outermostFirst[l].count;
  constexpr size_t kBytesPerRange = 64 * 1024;
  context.services().parallelFor(rows, kBytesPerRange / (levels[0].count + 1) + 1,
                                 [&](size_t begin, size_t end) {
                                   writeRows<Fill>(outermostFirst, begin, end, from, to, fill);
                                 });
  return okStatus();
}

Status computePad(OperationContext& context) {
  return writeBorder(context, [byte = zeroByte(context.input(0))](uint8_t* to, size_t bytes) {
    std::memset(to, byte, bytes);
  });
}

// The bytes of the border's element.
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
  // The value is copied in stored form, so that a NaN keeps its bits too.
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

// Reads the number of elements next to the edge that the mirror leaves out.
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

// Copies the input to the middle. Then each dimension, from the innermost outwards, gets its
// borders from the elements already there.
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
  ptrdiff_t start = 0;  // of the complete part of the output
  std::vector<CopyLoop> loops;
  for (size_t d = 0; d < rank; ++d) {
    start += paddings[2 * d] * to[d];
    loops.push_back({input.dims[d], from[d], to[d]});
  }
  copyElements(context.services(), input, 0, output, static_cast<size_t>(start), loops);
  for (CopyLoop& loop : loops) loop.from = loop.to;
  for (size_t d = rank; d-- > 0; loops.pop_back()) {
    const ptrdiff_t step = to[d];
    const ptrdiff_t before = paddings[2 * d];
    const ptrdiff_t after = paddings[2 * d + 1];
    const ptrdiff_t size = input.dims[d];
    const ptrdiff_t first = start;  // first element of the input's part
    start -= before * step;
    const auto mirror = [&](ptrdiff_t count, ptrdiff_t source, ptrdiff_t target) {
      if (count == 0) return;
      std::vector<CopyLoop> border(loops.begin(), loops.end() - 1);
      border.push_back({static_cast<size_t>(count), -step, step});
      border.push_back({static_cast<size_t>(step), 1, 1});
      copyElements(context.services(), output, static_cast<size_t>(source), output,
                   static_cast<size_t>(target), std::move(border));
    };
    mirror(before, first + (before - 1 + leftOut) * step, start);
    mirror(after, first + (size - 1 - leftOut) * step, first + size * step);
  }
  return okStatus();
}

Signature padSignature() {
  return {
      .rows = floatAndQuant8Rows(FeatureLevel::FL2),
      .forms = {{"", {typed("input", 0, rankBetween(1, 4)), int32List("paddings", rank(2))}, {}}},
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
                 {typed("input", 0, rankBetween(1, 4)), int32List("paddings", rank(2)),
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
  return madeOnce([] {
    return OperationDefinition{OperationType::PAD,         padSignature(), inferPad, computePad,
                               /*acceptsZeroSized=*/false,
                               /*float16AsFloat32=*/false};
  });
}

const OperationDefinition& padV2() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::PAD_V2,      padV2Signature(),          inferPadV2, computePadV2,
        /*acceptsZeroSized=*/false, /*float16AsFloat32=*/false};
  });
}

const OperationDefinition& mirrorPad() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::MIRROR_PAD,  mirrorPadSignature(),      inferMirrorPad, computeMirrorPad,
        /*acceptsZeroSized=*/false, /*float16AsFloat32=*/false};
  });
}

}  // namespace halyard::ops

// SLICE and STRIDED_SLICE: a part of a tensor, or every n-th element of one.
#include <algorithm>
#include <cstdint>
#include <span>

#include "ops/data_movement.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// The input coordinates of one dimension that the output takes.
struct Range {
  int64_t begin;
  int64_t stride;
  int64_t count;
};

Status copyRanges(OperationContext& context, const std::vector<Range>& ranges) {
  const std::vector<ptrdiff_t> strides = rowMajorStrides(context.input(0).dims);
  std::vector<CopyLoop> loops(ranges.size());
  ptrdiff_t offset = 0;
  ptrdiff_t to = 1;
  for (size_t d = ranges.size(); d-- > 0;) {
    const auto& [begin, stride, count] = ranges[d];
    offset += begin * strides[d];
    loops[d] = {static_cast<size_t>(count), stride * strides[d], to};
    to *= count;
  }
  copyElements(context.services(), context.input(0), static_cast<size_t>(offset), context.output(0),
               0, std::move(loops));
  return okStatus();
}

Status readSlice(const OperationContext& context, std::vector<Range>* ranges) {
  const Shape& dims = context.input(0).dims;
  const Shape listShape = {static_cast<uint32_t>(dims.size())};
  std::span<const int32_t> begins;
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, 1, listShape, "begin", &begins));
  std::span<const int32_t> sizes;
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, 2, listShape, "size", &sizes));
  ranges->clear();
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t begin = begins[d];
    if (begin < 0 || begin > dims[d]) {
      return opFailed("begin is {} in dimension {} of the input {}, expected 0 to {}", begin, d,
                      realShapeText(dims), dims[d]);
    }
    const int64_t rest = dims[d] - begin;
    const int64_t size = sizes[d] == -1 ? rest : sizes[d];
    if (size < 0 || size > rest) {
      return opFailed("size is {} in dimension {} of the input {}, expected 0 to {}, or -1", size,
                      d, realShapeText(dims), rest);
    }
    ranges->push_back({begin, 1, size});
  }
  return okStatus();
}

Status inferSlice(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(0), context.output(0)));
  std::vector<Range> ranges;
  HALYARD_RETURN_IF_ERROR(readSlice(context, &ranges));
  Shape result;
  for (const Range& range : ranges) result.push_back(static_cast<uint32_t>(range.count));
  context.output(0).dims = std::move(result);
  return okStatus();
}

Status computeSlice(OperationContext& context) {
  std::vector<Range> ranges;
  HALYARD_RETURN_IF_ERROR(readSlice(context, &ranges));
  return copyRanges(context, ranges);
}

// Returns a begin or end as a coordinate. Negative ones count from the end. Values outside move to
// the edge, which is one past the last element in the direction of the stride.
int64_t resolveBound(int64_t value, int64_t size, int64_t stride) {
  if (stride > 0 && value >= size) return size;
  if (stride < 0 && value < -size) return -1;
  value = std::clamp(value, -size, stride > 0 ? size : size - 1);
  return value < 0 ? value + size : value;
}

struct Bounds {
  int64_t begin;
  int64_t end;
  int64_t stride;
  bool fromEdge;  // begin is ignored
  bool toEdge;    // end is ignored
};
Range resolveRange(const Bounds& bounds, int64_t size) {
  const int64_t stride = bounds.stride;
  const int64_t begin =
      bounds.fromEdge ? (stride > 0 ? 0 : size - 1) : resolveBound(bounds.begin, size, stride);
  const int64_t end =
      bounds.toEdge ? (stride > 0 ? size : -1) : resolveBound(bounds.end, size, stride);
  int64_t count = 0;
  if (stride > 0 && begin < end) count = (end - begin - 1) / stride + 1;
  if (stride < 0 && begin > end) count = (begin - end - 1) / -stride + 1;
  return {begin, stride, count};
}

struct StridedSlice {
  std::vector<Range> ranges;  // one for each of the input's dimensions
  Shape shape;
};

Status readStridedSlice(const OperationContext& context, StridedSlice* result) {
  const Shape& dims = context.input(0).dims;
  const Shape listShape = {static_cast<uint32_t>(dims.size())};
  std::span<const int32_t> begins;
  std::span<const int32_t> ends;
  std::span<const int32_t> strides;
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, 1, listShape, "begin", &begins));
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, 2, listShape, "end", &ends));
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, 3, listShape, "strides", &strides));
  int32_t beginMask = 0;
  int32_t endMask = 0;
  int32_t shrinkMask = 0;
  HALYARD_RETURN_IF_ERROR(context.read(4, &beginMask), "begin mask");
  HALYARD_RETURN_IF_ERROR(context.read(5, &endMask), "end mask");
  HALYARD_RETURN_IF_ERROR(context.read(6, &shrinkMask), "shrink axis mask");
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto has = [bit = 1u << d](int32_t mask) {
      return (static_cast<uint32_t>(mask) & bit) != 0;
    };
    if (strides[d] == 0) return opFailed("strides are 0 in dimension {}, expected another", d);
    const Range range = resolveRange({begins[d], ends[d], strides[d], has(beginMask), has(endMask)},
                                     int64_t{dims[d]});
    result->ranges.push_back(range);
    if (!has(shrinkMask)) {
      result->shape.push_back(static_cast<uint32_t>(range.count));
    } else if (range.stride < 0 || range.count != 1) {
      return opFailed(
          "the shrink axis mask names dimension {}, which has {} elements at stride {}, expected 1 "
          "at a positive stride",
          d, range.count, range.stride);
    }
  }
  // A tensor has at least one dimension.
  if (result->shape.empty()) result->shape.push_back(1);
  return okStatus();
}

Status inferStridedSlice(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 1, 4, "input"));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(0), context.output(0)));
  StridedSlice slice;
  HALYARD_RETURN_IF_ERROR(readStridedSlice(context, &slice));
  context.output(0).dims = std::move(slice.shape);
  return okStatus();
}

Status computeStridedSlice(OperationContext& context) {
  StridedSlice slice;
  HALYARD_RETURN_IF_ERROR(readStridedSlice(context, &slice));
  return copyRanges(context, slice.ranges);
}

Signature sliceSignature() {
  Signature signature;
  signature.rows = floatInt32AndQuant8Rows(FeatureLevel::FL3);
  signature.forms = {{"", {typed("input", 0), int32List("begin"), int32List("size")}, {}}};
  signature.outputs = {typed("output", 0)};
  return signature;
}

Signature stridedSliceSignature() {
  Signature signature;
  signature.rows = floatAndQuant8Rows(FeatureLevel::FL2);
  signature.forms = {
      {"",
       {typed("input", 0, rankBetween(1, 4)), int32List("begin"), int32List("end"),
        int32List("strides"), int32("begin mask"), int32("end mask"), int32("shrink axis mask")},
       {}}};
  signature.outputs = {typed("output", 0)};
  return signature;
}

}  // namespace

const OperationDefinition& slice() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::SLICE,      sliceSignature(),          inferSlice, computeSlice,
        /*acceptsZeroSized=*/true, /*float16AsFloat32=*/false};
  });
}

const OperationDefinition& stridedSlice() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::STRIDED_SLICE, stridedSliceSignature(),    inferStridedSlice,
        computeStridedSlice,          /*acceptsZeroSized=*/false, /*float16AsFloat32=*/false};
  });
}

}  // namespace halyard::ops

// Converts operators that pick elements by index or join tensors: GATHER, GATHER_ND, STRIDED_SLICE,
// PACK. All of them keep the quantisation.
#include <algorithm>

#include "import/tflite/converters.h"
#include "import/tflite/movement.h"

namespace halyard::import {
namespace {

using enum OperationType;

// The range that STRIDED_SLICE takes of each dimension of its input, its bit masks, and the shape
// of its result if that has new dimensions.
struct StridedSlice {
  std::vector<int32_t> begin, end, strides;
  uint32_t openBegins = 0;
  uint32_t openEnds = 0;
  uint32_t shrinks = 0;
  std::vector<size_t> newAxes;  // positions in the result

  void take(int32_t first, int32_t last, int32_t stride) {
    begin.push_back(first);
    end.push_back(last);
    strides.push_back(stride);
  }
  void takeWhole() {
    openBegins |= 1u << begin.size();
    openEnds |= 1u << begin.size();
    take(0, 0, 1);
  }
};

struct SliceLists {
  std::vector<int32_t> begin, end, strides;
};

Result<SliceLists> sliceLists(const Node& node) {
  SliceLists lists;
  HALYARD_ASSIGN_OR_RETURN(lists.begin,
                           node.constantInts(1, "the list of begins", kMostDimensions));
  HALYARD_ASSIGN_OR_RETURN(lists.end, node.constantInts(2, "the list of ends", kMostDimensions));
  HALYARD_ASSIGN_OR_RETURN(lists.strides,
                           node.constantInts(3, "the list of strides", kMostDimensions));
  if (lists.begin.size() == lists.end.size() && lists.begin.size() == lists.strides.size()) {
    return lists;
  }
  return badData("{} begins, {} ends and {} strides, expected as many of each", lists.begin.size(),
                 lists.end.size(), lists.strides.size());
}

// Maps the lists to the dimensions of x. An ellipsis may shorten the lists, and new axes may
// lengthen them.
Result<StridedSlice> spreadSlice(const SliceLists& lists, const tfl::StridedSliceOptions& options,
                                 size_t rank) {
  const auto has = [](int32_t mask, size_t i) {
    return (static_cast<uint32_t>(mask) >> i & 1) != 0;
  };
  size_t taken = 0;
  bool hasEllipsis = false;
  for (size_t i = 0; i < lists.begin.size(); ++i) {
    if (has(options.ellipsis_mask(), i)) {
      if (hasEllipsis) return badData("two ellipses");
      hasEllipsis = true;
    } else if (!has(options.new_axis_mask(), i)) {
      ++taken;
    }
  }
  if (taken > rank) {
    return badData("the lists are of {} dimensions, the input has {}", taken, rank);
  }
  StridedSlice slice;
  size_t position = 0;  // in the result
  for (size_t i = 0; i < lists.begin.size(); ++i) {
    if (has(options.ellipsis_mask(), i)) {
      for (size_t k = taken; k < rank; ++k, ++position) slice.takeWhole();
    } else if (has(options.new_axis_mask(), i)) {
      slice.newAxes.push_back(position++);
    } else {
      const size_t d = slice.begin.size();
      const bool shrinks = has(options.shrink_axis_mask(), i);
      if (shrinks) slice.shrinks |= 1u << d;
      if (has(options.begin_mask(), i) && !shrinks) slice.openBegins |= 1u << d;
      if (has(options.end_mask(), i) && !shrinks) slice.openEnds |= 1u << d;
      // A dimension that is removed and has an open begin uses its first element.
      const int32_t begin = shrinks && has(options.begin_mask(), i) ? 0 : lists.begin[i];
      slice.take(begin, lists.end[i], lists.strides[i]);
      if (!shrinks) ++position;
    }
  }
  while (slice.begin.size() < rank) slice.takeWhole();
  return slice;
}

// Of a removed dimension, TFLite takes one element and ignores the end. NNAPI needs an end that
// matches.
Status endShrunkDimensions(const Shape& dims, StridedSlice& slice) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if ((slice.shrinks >> i & 1) == 0) continue;
    if (dims[i] == 0 && slice.begin[i] < 0) {
      return unsupported("index {} of dimension {} of {}, which only an execution knows",
                         slice.begin[i], i, shapeText(dims));
    }
    const int64_t at = slice.begin[i] < 0 ? int64_t{slice.begin[i]} + dims[i] : slice.begin[i];
    if (at < 0 || (dims[i] != 0 && at >= dims[i]) || at == INT32_MAX) {
      return badData("index {} is out of range of dimension {} of {}", slice.begin[i], i,
                     shapeText(dims));
    }
    slice.begin[i] = static_cast<int32_t>(at);
    slice.end[i] = slice.begin[i] + 1;
    slice.strides[i] = 1;
  }
  return okStatus();
}

// The selected elements of a dimension.
struct Taken {
  int64_t first, count, stride;
};

Result<Taken> takenOf(const StridedSlice& slice, size_t i, uint32_t dimension) {
  const int64_t size = dimension;
  const int64_t stride = slice.strides[i];
  if (stride == 0) return badData("stride 0 of dimension {}", i);
  const bool forwards = stride > 0;
  const auto place = [&](int64_t at) {
    if (at < 0) at += size;
    return forwards ? std::clamp<int64_t>(at, 0, size) : std::clamp<int64_t>(at, -1, size - 1);
  };
  const bool fromOpen = (slice.openBegins >> i & 1) != 0;
  const bool toOpen = (slice.openEnds >> i & 1) != 0;
  const int64_t first = fromOpen ? (forwards ? 0 : size - 1) : place(slice.begin[i]);
  const int64_t last = toOpen ? (forwards ? size : -1) : place(slice.end[i]);
  const int64_t length = forwards ? last - first : first - last;
  const int64_t step = forwards ? stride : -stride;
  if (length < 1) return unsupported("no element of dimension {}, of {}", i, dimension);
  return Taken{first, (length + step - 1) / step, stride};
}

Result<uint32_t> gatherTaken(Node& node, uint32_t x, size_t i, const Taken& taken) {
  HALYARD_RETURN_IF_ERROR(node.builder().spend(static_cast<uint64_t>(taken.count) * 8));
  std::vector<int32_t> indices(static_cast<size_t>(taken.count));
  for (size_t k = 0; k < indices.size(); ++k) {
    indices[k] = static_cast<int32_t>(taken.first + static_cast<int64_t>(k) * taken.stride);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t axis,
                           node.builder().int32Scalar(static_cast<int32_t>(i)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t list, listOf(node, indices));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t picked, node.temporaryLike(x, "picked"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(GATHER, {x, axis, list}, {picked}));
  return picked;
}

// NNAPI's operation supports neither integers nor booleans. So a slice cuts the range, and a gather
// picks its elements if the stride skips some.
Status sliceIntegers(Node& node, uint32_t x, const StridedSlice& slice, uint32_t y) {
  const Shape dims = node.operand(x).dimensions;
  if (!knownElementCount(dims)) {
    return unsupported("of integers of the shape {}, which only an execution knows",
                       shapeText(dims));
  }
  Shape result;
  std::vector<int32_t> begins, sizes;
  for (size_t i = 0; i < dims.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const Taken taken, takenOf(slice, i, dims[i]));
    if ((slice.shrinks >> i & 1) == 0) result.push_back(static_cast<uint32_t>(taken.count));
    const bool isPiece = taken.stride == 1;
    begins.push_back(isPiece ? static_cast<int32_t>(taken.first) : 0);
    sizes.push_back(isPiece ? static_cast<int32_t>(taken.count) : -1);
    if (isPiece) continue;
    HALYARD_ASSIGN_OR_RETURN(x, gatherTaken(node, x, i, taken));
  }
  for (const size_t at : slice.newAxes) {
    result.insert(result.begin() + static_cast<ptrdiff_t>(std::min(at, result.size())), 1);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t begin, listOf(node, begins));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t size, listOf(node, sizes));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t piece, node.temporaryLike(x, "piece"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(SLICE, {x, begin, size}, {piece}));
  return node.reshapeAs(piece, result.empty() ? Shape{1} : std::move(result), y);
}

// Lists that only an execution knows stay as they are.
Status convertComputedSlice(Node& node, const tfl::StridedSliceOptions& options, uint32_t x) {
  const Operand& input = node.operand(x);
  if (options.ellipsis_mask() != 0 || options.new_axis_mask() != 0 ||
      options.shrink_axis_mask() != 0 || input.type == OperandType::TENSOR_INT32) {
    return unsupported(
        "the lists are computed at run time, only constants are supported where it "
        "is of integers, or changes the number of dimensions");
  }
  OperandIndexes rest;
  for (const size_t i : {1, 2, 3}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t list, node.input(i));
    rest.push_back(list);
  }
  for (const int32_t mask : {options.begin_mask(), options.end_mask(), 0}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar, node.builder().int32Scalar(mask));
    rest.push_back(scalar);
  }
  return moveElements(node, STRIDED_SLICE, x, std::move(rest));
}

Status convertStridedSlice(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(4, 4, 1));
  const auto& options = *node.options<tfl::StridedSliceOptions>();
  if (options.offset()) return unsupported("ends that count from the begins");
  HALYARD_ASSIGN_OR_RETURN(uint32_t x, node.input(0));
  if (!node.isKnown(1) || !node.isKnown(2) || !node.isKnown(3)) {
    return convertComputedSlice(node, options, x);
  }
  const Shape dims = node.operand(x).dimensions;
  HALYARD_ASSIGN_OR_RETURN(const SliceLists lists, sliceLists(node));
  HALYARD_ASSIGN_OR_RETURN(StridedSlice slice, spreadSlice(lists, options, dims.size()));
  HALYARD_RETURN_IF_ERROR(endShrunkDimensions(dims, slice));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
  const OperandType type = node.operand(x).type;
  if (type == OperandType::TENSOR_INT32 || type == OperandType::TENSOR_BOOL8) {
    return sliceIntegers(node, x, slice, y);
  }
  OperandIndexes inputs = {x};
  for (const auto* values : {&slice.begin, &slice.end, &slice.strides}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t list, listOf(node, *values));
    inputs.push_back(list);
  }
  for (const uint32_t mask : {slice.openBegins, slice.openEnds, slice.shrinks}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar,
                             node.builder().int32Scalar(static_cast<int32_t>(mask)));
    inputs.push_back(scalar);
  }
  if (slice.newAxes.empty()) {
    return node.builder().addOperation(STRIDED_SLICE, std::move(inputs), {y});
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t part, node.temporaryLike(x, "without new axes"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(STRIDED_SLICE, std::move(inputs), {part}));
  Shape result = node.operand(part).dimensions;
  if (result.empty()) return unsupported("a new axis in a shape that only an execution knows");
  // A scalar has one dimension in the model.
  if (slice.shrinks + 1 == 1u << dims.size()) result.clear();
  for (const size_t at : slice.newAxes) {
    result.insert(result.begin() + static_cast<ptrdiff_t>(std::min(at, result.size())), 1);
  }
  return node.reshapeAs(part, std::move(result), y);
}

// Returns whether all inputs have rank 0 in the file. In the model they have another rank.
Result<bool> areScalars(const Node& node) {
  for (size_t i = 0; i < node.inputCount(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(i));
    if (!tensor.dims.empty()) return false;
  }
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  return to.dims.size() <= 1;
}

Status convertPack(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, SIZE_MAX, 1));
  OperandIndexes inputs;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(i));
    inputs.push_back(x);
  }
  const auto count = static_cast<uint32_t>(inputs.size());
  HALYARD_ASSIGN_OR_RETURN(const bool ofScalars, areScalars(node));
  const int32_t axis = node.options<tfl::PackOptions>()->axis();
  const uint32_t first = inputs[0];
  const size_t rank = ofScalars ? 0 : node.operand(first).dimensions.size();
  HALYARD_ASSIGN_OR_RETURN(const size_t at, Node::normalizedAxis(axis, rank + 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar,
                           node.builder().int32Scalar(static_cast<int32_t>(at)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, first));
  inputs.insert(inputs.begin(), scalar);
  if (!ofScalars) return node.builder().addOperation(PACK, std::move(inputs), {y});
  HALYARD_ASSIGN_OR_RETURN(const uint32_t column, node.temporaryLike(first, "packed"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(PACK, std::move(inputs), {column}));
  return node.reshapeAs(column, {count}, y);
}

// Returns the indices plus `starts`. An index outside of 0 to `extent` - 1 becomes negative, which
// GATHER refuses. Otherwise it would pick from the part of another batch.
Result<uint32_t> movedIndices(Node& node, uint32_t indices, uint32_t starts, int32_t extent) {
  GraphBuilder& builder = node.builder();
  const auto append = [&](OperationType type, OperandIndexes inputs,
                          std::string_view what) -> Result<uint32_t> {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.temporaryLike(indices, what));
    HALYARD_RETURN_IF_ERROR(builder.addOperation(type, std::move(inputs), {y}));
    return y;
  };
  const auto number = [&](int32_t value) { return builder.int32Tensor({1}, {&value, 1}); };
  HALYARD_ASSIGN_OR_RETURN(const uint32_t last, number(extent - 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t zero, number(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t minusOne, number(-1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t none, builder.int32Scalar(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t least, append(MINIMUM, {indices, last}, "at most"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t kept, append(MAXIMUM, {least, zero}, "in the axis"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t moved, append(ADD, {kept, starts, none}, "moved"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t refused, append(MINIMUM, {indices, minusOne}, "refused"));
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t isInside,
      builder.addTemporary(OperandType::TENSOR_BOOL8, {}, 0, 0, "is in the axis"));
  HALYARD_RETURN_IF_ERROR(builder.addOperation(EQUAL, {kept, indices}, {isInside}));
  return append(SELECT, {isInside, moved, refused}, "in all batches");
}

// Each batch picks from its own part of x. All parts become one list, and the indices of a batch
// move to its part.
Status gatherInBatches(Node& node, int32_t axis, int32_t batchDims) {
  HALYARD_ASSIGN_OR_RETURN(uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(uint32_t indices, node.input(1));
  const Shape dims = node.operand(x).dimensions;
  const Shape own = node.operand(indices).dimensions;
  HALYARD_ASSIGN_OR_RETURN(const size_t at, Node::normalizedAxis(axis, dims.size()));
  const auto batches = static_cast<size_t>(batchDims);
  if (batchDims < 0 || at != batches || own.size() < batches || !knownElementCount(dims) ||
      !std::equal(dims.begin(), dims.begin() + static_cast<ptrdiff_t>(batches), own.begin())) {
    return unsupported("batch_dims is {}, the axis {}, the indices {}", batchDims, axis,
                       shapeText(own));
  }
  Shape spread(own.size(), 1);
  uint32_t count = 1;
  for (size_t d = 0; d < batches; ++d) count *= spread[d] = dims[d];
  HALYARD_RETURN_IF_ERROR(node.builder().spend(uint64_t{count} * sizeof(int32_t)));
  std::vector<int32_t> starts(count);
  for (size_t i = 0; i < count; ++i) starts[i] = static_cast<int32_t>(i * dims[at]);
  Shape merged(dims.begin() + static_cast<ptrdiff_t>(batches), dims.end());
  merged[0] *= count;
  HALYARD_ASSIGN_OR_RETURN(x, node.reshapedTo(x, std::move(merged)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t first,
                           node.builder().int32Tensor(std::move(spread), starts));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t zero, node.builder().int32Scalar(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t moved,
                           movedIndices(node, indices, first, static_cast<int32_t>(dims[at])));
  return moveElements(node, GATHER, x, {zero, moved});
}

Status convertGather(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  const auto* options = node.options<tfl::GatherOptions>();
  if (options != nullptr && options->batch_dims() != 0) {
    return gatherInBatches(node, options->axis(), options->batch_dims());
  }
  const int32_t axis = options == nullptr ? 0 : options->axis();
  HALYARD_ASSIGN_OR_RETURN(const FileTensor list, node.inputInfo(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t indices, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar, node.builder().int32Scalar(axis));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  Shape dims = node.operand(x).dimensions;
  // A single index of rank 0 removes the axis. A constant without dimensions has this rank for
  // sure.
  const bool fits = to.dims.size() + 1 == dims.size() || (to.dims.empty() && list.isConstant());
  const bool isSingle =
      list.dims.empty() && node.operand(indices).dimensions == Shape{1} && dims.size() > 1 && fits;
  if (!isSingle) return moveElements(node, GATHER, x, {scalar, indices});
  HALYARD_ASSIGN_OR_RETURN(const size_t at, Node::normalizedAxis(axis, dims.size()));
  dims.erase(dims.begin() + static_cast<ptrdiff_t>(at));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t picked, node.temporaryLike(x, "picked"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(GATHER, {x, scalar, indices}, {picked}));
  return node.reshapeAs(picked, std::move(dims), y);
}

Status convertGatherNd(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t indices, node.input(1));
  return moveElements(node, GATHER_ND, x, {indices});
}

using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
constexpr Takes kPickingTakes = kTakesInt64 | kTakesUnscaled | kTakesOpenDimensions;

constexpr Converter kPickingConverters[] = {
    {Op::STRIDED_SLICE, Opt::StridedSliceOptions, kNeeds, convertStridedSlice,
     kPickingTakes | kTakesInt16},
    {Op::PACK, Opt::PackOptions, kNeeds, convertPack, kPickingTakes | kTakesInt16},
    {Op::GATHER, Opt::GatherOptions, kMayLack, convertGather, kPickingTakes | kTakesInt16},
    {Op::GATHER_ND, Opt::GatherNdOptions, kMayLack, convertGatherNd,
     kPickingTakes | kTakesOpenRank | kTakesInt16},
};

}  // namespace

std::span<const Converter> pickingConverters() { return kPickingConverters; }

}  // namespace halyard::import

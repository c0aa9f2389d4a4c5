// Converts operators that scatter, segment, look up and count elements.
#include <algorithm>
#include <set>

#include "import/tflite/converters.h"
#include "import/tflite/movement.h"

namespace halyard::import {
namespace {

using enum OperationType;

// The limit of lists that the importer reads from the file, in elements.
constexpr size_t kMostListed = size_t{1} << 16;

// Places of elements or slices must be distinct, because TFLite keeps the last one and SCATTER_ND
// adds them.
Status checkDistinct(const std::vector<int32_t>& indices, size_t length) {
  std::set<std::vector<int32_t>> places;
  for (auto at = indices.begin(); at != indices.end(); at += static_cast<ptrdiff_t>(length)) {
    if (places.emplace(at, at + static_cast<ptrdiff_t>(length)).second) continue;
    return unsupported("two values for one place");
  }
  return okStatus();
}

Status checkDefaultIsZero(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(3));
  if (!tensor.isConstant()) {
    return unsupported("the default value ({}) is computed at run time", tensor.text());
  }
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, node.builder().contents(tensor));
  if (std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; })) return okStatus();
  return unsupported("the default value ({}) is not 0", tensor.text());
}

Status convertSparseToDense(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(4, 4, 1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> indices,
                           node.constantInts(0, "the list of indices", kMostListed));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> shape,
                           node.constantInts(1, "the new shape", kMostDimensions));
  if (shape.empty() || indices.size() % shape.size() != 0) {
    return badData("{} indices into {} dimensions", indices.size(), shape.size());
  }
  HALYARD_RETURN_IF_ERROR(checkDistinct(indices, shape.size()));
  HALYARD_RETURN_IF_ERROR(checkDefaultIsZero(node));
  const auto count = static_cast<uint32_t>(indices.size() / shape.size());
  HALYARD_ASSIGN_OR_RETURN(const uint32_t values, node.input(2));
  if (node.operand(values).dimensions != Shape{count}) {
    return unsupported("one value for {} places", count);
  }
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t tuples,
      node.builder().int32Tensor({count, static_cast<uint32_t>(shape.size())}, indices));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t dims, listOf(node, shape));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(SCATTER_ND, {tuples, values, dims}, {y});
}

// Appends the combination of the slices of input 0 with equal numbers in input 1.
Status combineSegments(Node& node, OperationType type, int32_t count) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t data, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t segments, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t number, node.builder().int32Scalar(count));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(type, {data, segments, number}, {y});
}

template <OperationType kType>
Status convertUnsortedSegments(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, 1));
  HALYARD_ASSIGN_OR_RETURN(const int32_t count, singleInt(node, 2, "the number of segments"));
  return combineSegments(node, kType, count);
}

// The numbers ascend, so that the last one gives their number.
Status convertSegmentSum(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> segments,
                           node.constantInts(1, "the list of segments", kMostListed));
  if (segments.empty() || segments.back() == INT32_MAX) {
    return badData("the list of {} segments has no valid last number", segments.size());
  }
  return combineSegments(node, UNSORTED_SEGMENT_SUM, segments.back() + 1);
}

Status convertDynamicUpdateSlice(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t update, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t starts, node.input(2));
  return moveElements(node, DYNAMIC_UPDATE_SLICE, x, {update, starts});
}

Status convertCumsum(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  const auto* options = node.options<tfl::CumsumOptions>();
  HALYARD_ASSIGN_OR_RETURN(const int32_t axis, singleInt(node, 1, "the axis"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t at, node.builder().int32Scalar(axis));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t isExclusive,
                           node.builder().boolScalar(options != nullptr && options->exclusive()));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t isReverse,
                           node.builder().boolScalar(options != nullptr && options->reverse()));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(CUMSUM, {x, at, isExclusive, isReverse}, {y});
}

// The options have the boundaries.
Status convertBucketize(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const std::optional<std::span<const int32_t>> boundaries,
                           node.optionList(tfl::BucketizeOptions::VT_BOUNDARIES));
  if (!boundaries || boundaries->empty()) return unsupported("no boundaries");
  // The list holds the bits of floats.
  const auto from = std::as_bytes(*boundaries);
  HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes, node.builder().newBytes(from.size()));
  std::ranges::copy(std::as_bytes(*boundaries), std::as_writable_bytes(bytes).begin());
  Operand list;
  list.type = OperandType::TENSOR_FLOAT32;
  list.dimensions = {static_cast<uint32_t>(boundaries->size())};
  HALYARD_ASSIGN_OR_RETURN(const uint32_t limits,
                           node.builder().addOwnConstant(std::move(list), bytes, "boundaries"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(BUCKETIZE, {x, limits}, {y});
}

// Only an execution knows how many elements are not zero.
Status convertWhere(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  const auto rank = static_cast<uint32_t>(node.operand(x).dimensions.size());
  node.builder().operand(y).dimensions = {0, rank};
  return node.builder().addOperation(WHERE, {x}, {y});
}

// The same holds for distinct elements.
Status convertUnique(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 2));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t values, node.output(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t places, node.output(1));
  node.builder().operand(values).dimensions = {0};
  return node.builder().addOperation(UNIQUE, {x}, {values, places});
}

Status convertDilate(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t steps, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t fill, node.input(2));
  return moveElements(node, DILATE, x, {steps, fill});
}

Status convertReverseSequence(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  const auto* options = node.options<tfl::ReverseSequenceOptions>();
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t lengths, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t sequence, node.builder().int32Scalar(options->seq_dim()));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t batch, node.builder().int32Scalar(options->batch_dim()));
  return moveElements(node, REVERSE_SEQUENCE, x, {lengths, sequence, batch});
}

// The file's second output, which keys were found, has no scale. NNAPI's has the scale 1.
Status convertHashtableLookup(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, 2));
  OperandIndexes inputs;
  for (size_t i = 0; i < 3; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(i));
    inputs.push_back(x);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, inputs[2]));
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t hits,
      node.builder().addTemporary(OperandType::TENSOR_QUANT8_ASYMM, {}, 1, 0, "hits"));
  HALYARD_RETURN_IF_ERROR(node.forward(1, hits));
  return node.builder().addOperation(HASHTABLE_LOOKUP, std::move(inputs), {y, hits});
}

Status convertLshProjection(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 3, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t hash, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(1));
  const auto type = node.options<tfl::LSHProjectionOptions>()->type();
  const bool isSparse = type == tfl::LSHProjectionType::SPARSE;
  if (!isSparse && type != tfl::LSHProjectionType::DENSE) {
    return badData("projection type {} does not exist", static_cast<int>(type));
  }
  // NNAPI allows weights only with a dense projection, and needs them there.
  if (isSparse == node.hasInput(2)) {
    return unsupported("a {} projection {} weights", isSparse ? "sparse" : "dense",
                       isSparse ? "with" : "without");
  }
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t weight,
      isSparse ? node.builder().omitted(node.operand(hash).type) : node.input(2));
  // NNAPI's codes. Its code 1 is an older form of 3.
  HALYARD_ASSIGN_OR_RETURN(const uint32_t code, node.builder().int32Scalar(isSparse ? 3 : 2));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(LSH_PROJECTION, {hash, x, weight, code}, {y});
}

using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;

constexpr Converter kScatterConverters[] = {
    {Op::SCATTER_ND, Opt::ScatterNdOptions, kMayLack, convertPlain<SCATTER_ND, 3>, kTakesOpenRank},
    {Op::SPARSE_TO_DENSE, Opt::SparseToDenseOptions, kMayLack, convertSparseToDense, kTakesInt64},
    {Op::SEGMENT_SUM, Opt::SegmentSumOptions, kMayLack, convertSegmentSum, kTakesOpenDimensions},
    {Op::UNSORTED_SEGMENT_SUM, Opt::UnsortedSegmentSumOptions, kMayLack,
     convertUnsortedSegments<UNSORTED_SEGMENT_SUM>, kTakesOpenDimensions},
    {Op::UNSORTED_SEGMENT_PROD, Opt::UnsortedSegmentProdOptions, kMayLack,
     convertUnsortedSegments<UNSORTED_SEGMENT_PROD>, kTakesOpenDimensions},
    {Op::UNSORTED_SEGMENT_MAX, Opt::UnsortedSegmentMaxOptions, kMayLack,
     convertUnsortedSegments<UNSORTED_SEGMENT_MAX>, kTakesOpenDimensions},
    {Op::UNSORTED_SEGMENT_MIN, Opt::UnsortedSegmentMinOptions, kMayLack,
     convertUnsortedSegments<UNSORTED_SEGMENT_MIN>, kTakesOpenDimensions},
    {Op::DYNAMIC_UPDATE_SLICE, Opt::DynamicUpdateSliceOptions, kMayLack, convertDynamicUpdateSlice,
     kTakesInt64 | kTakesUnscaled | kTakesOpenDimensions | kTakesInt16},
    {Op::CUMSUM, Opt::CumsumOptions, kMayLack, convertCumsum, kTakesOpenDimensions},
    {Op::BUCKETIZE, Opt::BucketizeOptions, kNeeds, convertBucketize, kTakesInt64 | kTakesOpenRank},
    {Op::WHERE, Opt::WhereOptions, kMayLack, convertWhere, kTakesInt64 | kTakesOpenDimensions},
    {Op::UNIQUE, Opt::UniqueOptions, kMayLack, convertUnique, kTakesInt64 | kTakesOpenDimensions},
    {Op::DILATE, Opt::NONE, kMayLack, convertDilate, kTakesInt64 | kTakesOpenDimensions},
    {Op::REVERSE_SEQUENCE, Opt::ReverseSequenceOptions, kNeeds, convertReverseSequence,
     kTakesInt64 | kTakesOpenDimensions},
    {Op::HASHTABLE_LOOKUP, Opt::NONE, kMayLack, convertHashtableLookup, kTakesOpenDimensions},
    {Op::LSH_PROJECTION, Opt::LSHProjectionOptions, kNeeds, convertLshProjection,
     kTakesOpenDimensions},
};

}  // namespace

std::span<const Converter> scatterConverters() { return kScatterConverters; }

}  // namespace halyard::import

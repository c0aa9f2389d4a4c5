// Converts operators that pick, repeat, pad and rearrange elements. All of them keep the
// quantisation.
#include <algorithm>
#include <cstring>

#include "import/tflite/converters.h"
#include "import/tflite/movement.h"

namespace halyard::import {
namespace {

using enum OperationType;

// Returns input i, which must have exactly one number for each dimension.
Result<std::vector<int32_t>> perDimension(const Node& node, size_t i, std::string_view what,
                                          size_t rank) {
  HALYARD_ASSIGN_OR_RETURN(std::vector<int32_t> values,
                           node.constantInts(i, what, kMostDimensions));
  if (values.size() == rank) return values;
  return badData("{} has {} values, rank {} needs as many", what, values.size(), rank);
}

Status convertSlice(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  const size_t rank = node.operand(x).dimensions.size();
  OperandIndexes lists;
  for (size_t i : {1, 2}) {
    HALYARD_ASSIGN_OR_RETURN(
        const std::vector<int32_t> values,
        perDimension(node, i, i == 1 ? "the list of begins" : "the list of sizes", rank));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t list, listOf(node, values));
    lists.push_back(list);
  }
  return moveElements(node, SLICE, x, std::move(lists));
}

Result<uint32_t> outputLike(Node& node, size_t i, uint32_t x) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(i));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x), "output {}", i);
  return y;
}

Result<OperandIndexes> outputsLike(Node& node, uint32_t x) {
  OperandIndexes outputs;
  for (size_t i = 0; i < node.outputCount(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t y, outputLike(node, i, x));
    outputs.push_back(y);
  }
  return outputs;
}

// Splits x along `axis` into equal parts, one for each of `outputs`.
Status split(Node& node, uint32_t x, size_t axis, OperandIndexes outputs) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t at,
                           node.builder().int32Scalar(static_cast<int32_t>(axis)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t count,
                           node.builder().int32Scalar(static_cast<int32_t>(outputs.size())));
  return node.builder().addOperation(SPLIT, {x, at, count}, std::move(outputs));
}

Status convertSplit(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, node.outputCount()));
  const int32_t count = node.options<tfl::SplitOptions>()->num_splits();
  if (count < 1 || static_cast<size_t>(count) != node.outputCount()) {
    return badData("num_splits is {}, it has {} outputs", count, node.outputCount());
  }
  HALYARD_ASSIGN_OR_RETURN(const int32_t axis, singleInt(node, 0, "the axis"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const size_t at,
                           Node::normalizedAxis(axis, node.operand(x).dimensions.size()));
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes outputs, outputsLike(node, x));
  return split(node, x, at, std::move(outputs));
}

// Parts of different sizes become slices. A list without elements gets no operand, since NNAPI has
// no such tensor; CONCATENATION takes it, too.
Status convertSplitV(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, node.outputCount()));
  HALYARD_ASSIGN_OR_RETURN(
      std::vector<int32_t> sizes,
      node.constantInts(1, "the list of sizes", std::max<size_t>(node.outputCount(), 1)));
  HALYARD_ASSIGN_OR_RETURN(const int32_t axis, singleInt(node, 2, "the axis"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  const Shape dims = node.operand(x).dimensions;
  HALYARD_ASSIGN_OR_RETURN(const size_t at, Node::normalizedAxis(axis, dims.size()));
  if (sizes.size() != node.outputCount()) {
    return badData("the list of sizes has {} values, it has {} outputs", sizes.size(),
                   node.outputCount());
  }
  int64_t left = dims[at];
  for (int32_t size : sizes) left -= std::max(size, 0);
  if (left < 0) return badData("the sizes are more than dimension {} of {}", at, shapeText(dims));
  std::vector<int32_t> begin(dims.size(), 0);
  std::vector<int32_t> size(dims.size(), -1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    // One size may be negative. It stands for the rest.
    size[at] = sizes[i] < 0 ? static_cast<int32_t>(left) : sizes[i];
    if (size[at] == 0 && node.builder().file().isEmptyList(node.outputTensor(i))) continue;
    HALYARD_ASSIGN_OR_RETURN(const uint32_t y, outputLike(node, i, x));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t begins, listOf(node, begin));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t lengths, listOf(node, size));
    HALYARD_RETURN_IF_ERROR(node.builder().addOperation(SLICE, {x, begins, lengths}, {y}));
    begin[at] += size[at];
  }
  return okStatus();
}

// Converts to a split whose parts lose the dimension of the split.
Status convertUnpack(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, node.outputCount()));
  const auto& options = *node.options<tfl::UnpackOptions>();
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  Shape dims = node.operand(x).dimensions;
  HALYARD_ASSIGN_OR_RETURN(const size_t at, Node::normalizedAxis(options.axis(), dims.size()));
  if (node.outputCount() != dims[at] || options.num() != static_cast<int32_t>(dims[at])) {
    return badData("{} parts and {} outputs, dimension {} of {}", options.num(), node.outputCount(),
                   at, shapeText(dims));
  }
  HALYARD_ASSIGN_OR_RETURN(const OperandIndexes outputs, outputsLike(node, x));
  OperandIndexes parts;
  for (size_t i = 0; i < outputs.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t part, node.temporaryLike(x, fmt::format("part {}", i)));
    parts.push_back(part);
  }
  HALYARD_RETURN_IF_ERROR(split(node, x, at, parts));
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at));
  if (dims.empty()) dims = {1};
  for (size_t i = 0; i < outputs.size(); ++i) {
    Operand& declared = node.builder().operand(outputs[i]);
    if (declared.dimensions.empty()) declared.dimensions = dims;
    HALYARD_RETURN_IF_ERROR(node.reshape(parts[i], outputs[i]));
  }
  return okStatus();
}

Status convertTile(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(
      const std::vector<int32_t> multiples,
      perDimension(node, 1, "the list of multiples", node.operand(x).dimensions.size()));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t list, listOf(node, multiples));
  return moveElements(node, TILE, x, {list});
}

// Picks rows of a table. The table has the quantisation, not the list of rows.
Status convertEmbeddingLookup(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t rows, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t table, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, table));
  return node.builder().addOperation(EMBEDDING_LOOKUP, {rows, table}, {y});
}

Status convertBlocks(Node& node, OperationType type, int32_t size) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar, node.builder().int32Scalar(size));
  return moveElements(node, type, x, {scalar});
}

Status convertSpaceToDepth(Node& node) {
  return convertBlocks(node, SPACE_TO_DEPTH,
                       node.options<tfl::SpaceToDepthOptions>()->block_size());
}

Status convertDepthToSpace(Node& node) {
  return convertBlocks(node, DEPTH_TO_SPACE,
                       node.options<tfl::DepthToSpaceOptions>()->block_size());
}

// Returns the paddings or crops of two spatial dimensions, as [2,2].
Result<std::vector<int32_t>> spatialBorders(const Node& node, std::string_view what) {
  HALYARD_ASSIGN_OR_RETURN(std::vector<int32_t> values, node.constantInts(2, what, 4));
  if (values.size() == 4) return values;
  return unsupported("{} has {} values: NNAPI has two spatial dimensions", what, values.size());
}

// Of one spatial dimension, x becomes an image of height 1.
Status spaceToBatchOfLines(Node& node, uint32_t x, int32_t block) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> borders,
                           node.constantInts(2, "the list of paddings", 2));
  const Shape dims = node.operand(x).dimensions;
  if (borders.size() != 2) return badData("{} paddings of one dimension", borders.size());
  HALYARD_ASSIGN_OR_RETURN(const uint32_t image,
                           node.reshapedTo(x, {dims[0], 1, dims[1], dims[2]}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t sizes, listOf(node, {1, block}));
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t paddings,
      node.builder().int32Tensor({2, 2}, std::vector<int32_t>{0, 0, borders[0], borders[1]}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t blocks, node.temporaryLike(x, "blocks"));
  HALYARD_RETURN_IF_ERROR(
      node.builder().addOperation(SPACE_TO_BATCH_ND, {image, sizes, paddings}, {blocks}));
  const Shape made = node.operand(blocks).dimensions;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
  return node.reshapeAs(blocks, {made[0], made[2], made[3]}, y);
}

Status convertSpaceToBatch(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> block,
                           node.constantInts(1, "the block's size", 2));
  const Shape& dims = node.operand(x).dimensions;
  if (block.size() == 1 && dims.size() == 3 && knownElementCount(dims)) {
    return spaceToBatchOfLines(node, x, block[0]);
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> borders,
                           spatialBorders(node, "the list of paddings"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t sizes, listOf(node, block));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t paddings, node.builder().int32Tensor({2, 2}, borders));
  return moveElements(node, SPACE_TO_BATCH_ND, x, {sizes, paddings});
}

// Of one spatial dimension, x becomes an image of height 1.
Status batchToSpaceOfLines(Node& node, uint32_t x, int32_t block) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> crops,
                           node.constantInts(2, "the list of crops", 2));
  const Shape dims = node.operand(x).dimensions;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t blocks,
                           node.reshapedTo(x, {dims[0], 1, dims[1], dims[2]}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t sizes, listOf(node, {1, block}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t image, node.temporaryLike(x, "uncropped"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(BATCH_TO_SPACE_ND, {blocks, sizes}, {image}));
  const Shape made = node.operand(image).dimensions;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t line,
                           node.reshapedTo(image, {made[0], made[2], made[3]}));
  const int64_t left = crops.size() == 2 ? int64_t{made[2]} - crops[0] - crops[1] : 0;
  if (left < 1 || crops[0] < 0 || crops[1] < 0) {
    return badData("{} crops of a dimension of {}", crops.size(), made[2]);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t begin, listOf(node, {0, crops[0], 0}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t size, listOf(node, {-1, static_cast<int32_t>(left), -1}));
  return moveElements(node, SLICE, line, {begin, size});
}

// NNAPI's operation has no crops, so a slice does it.
Status convertBatchToSpace(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> block,
                           node.constantInts(1, "the block's size", 2));
  if (block.size() == 1 && node.operand(x).dimensions.size() == 3) {
    return batchToSpaceOfLines(node, x, block[0]);
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> crops,
                           spatialBorders(node, "the list of crops"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t sizes, listOf(node, block));
  if (std::all_of(crops.begin(), crops.end(), [](int32_t crop) { return crop == 0; })) {
    return moveElements(node, BATCH_TO_SPACE_ND, x, {sizes});
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t whole, node.temporaryLike(x, "uncropped"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(BATCH_TO_SPACE_ND, {x, sizes}, {whole}));
  const Shape& dims = node.operand(whole).dimensions;
  std::vector<int32_t> length;
  for (size_t i : {0, 1}) {
    const int64_t left = int64_t{dims[i + 1]} - crops[2 * i] - crops[2 * i + 1];
    if (crops[2 * i] < 0 || crops[2 * i + 1] < 0 || left < 1) {
      return badData("crops {} and {} of dimension {} of {}", crops[2 * i], crops[2 * i + 1], i + 1,
                     shapeText(dims));
    }
    length.push_back(static_cast<int32_t>(left));
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t begin, listOf(node, {0, crops[0], crops[2], 0}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t size, listOf(node, {-1, length[0], length[1], -1}));
  return moveElements(node, SLICE, whole, {begin, size});
}

Result<uint32_t> paddingList(Node& node, uint32_t x) {
  const auto rank = static_cast<uint32_t>(node.operand(x).dimensions.size());
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> paddings,
                           node.constantInts(1, "the list of paddings", size_t{2} * rank));
  if (paddings.size() != size_t{2} * rank) {
    return badData("the list of paddings has {} values, rank {} needs {}", paddings.size(), rank,
                   2 * rank);
  }
  return node.builder().int32Tensor({rank, 2}, paddings);
}

// NNAPI pads no integers. The tensor replaces its place in a larger one with the value.
Status padIntegers(Node& node, uint32_t x, int32_t value) {
  Operand whole = node.operand(x);
  if (!knownElementCount(whole.dimensions)) {
    return unsupported("of integers of the shape {}", shapeText(whole.dimensions));
  }
  const size_t rank = whole.dimensions.size();
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> paddings,
                           node.constantInts(1, "the list of paddings", 2 * rank));
  std::vector<int32_t> starts;
  for (size_t d = 0; d < rank && paddings.size() == 2 * rank; ++d) {
    const int64_t before = paddings[2 * d];
    const int64_t after = paddings[2 * d + 1];
    const int64_t extent = whole.dimensions[d] + before + after;
    if (before < 0 || after < 0 || extent > INT32_MAX) {
      return badData("paddings {} and {} of dimension {}", before, after, d);
    }
    starts.push_back(paddings[2 * d]);
    whole.dimensions[d] = static_cast<uint32_t>(extent);
  }
  const std::optional<uint32_t> size = knownByteSize(whole.type, whole.dimensions);
  if (starts.size() != rank || !size) {
    return badData("{} paddings of {}", paddings.size(), shapeText(node.operand(x).dimensions));
  }
  HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes, node.builder().newBytes(*size));
  for (size_t i = 0; i < bytes.size(); i += sizeof(value)) {
    std::memcpy(bytes.data() + i, &value, sizeof(value));
  }
  whole.lifetime = Lifetime::CONSTANT_COPY;
  whole.location = {};
  HALYARD_ASSIGN_OR_RETURN(const uint32_t filled,
                           node.builder().addOwnConstant(std::move(whole), bytes, "borders"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t at, listOf(node, starts));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(DYNAMIC_UPDATE_SLICE, {filled, x, at}, {y});
}

Status convertPad(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  if (node.operand(x).type == OperandType::TENSOR_INT32) return padIntegers(node, x, 0);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t list, paddingList(node, x));
  return moveElements(node, PAD, x, {list});
}

// Returns the value for the borders: a float, or an element in stored form.
Result<uint32_t> padValue(Node& node, uint32_t x) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(2));
  if (!tensor.isConstant()) {
    return unsupported("the value ({}) is computed at run time", tensor.text());
  }
  if (tensor.data.size() != tensorElementSize(tensor.type)) {
    return badData("{} is no single value", tensor.text());
  }
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, node.builder().contents(tensor));
  const OperandType type = node.operand(x).type;
  if (isQuant8Asymm(type)) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t value, node.input(2));
    if (node.operand(value).type != type || !node.sameQuantization(value, x)) {
      return unsupported("the value ({}) is not quantised as the input is", tensor.text());
    }
    const bool isSigned = type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
    return node.builder().int32Scalar(isSigned ? static_cast<int8_t>(bytes[0]) : int32_t{bytes[0]});
  }
  if (tensor.type != tfl::TensorType::FLOAT32) {
    return unsupported("the value ({}) is {}", tensor.text(), tensorTypeName(tensor.type));
  }
  float number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return node.builder().floatScalar(type, number);
}

Status convertPadV2(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  if (node.operand(x).type == OperandType::TENSOR_INT32) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t number, singleInt(node, 2, "the value"));
    return padIntegers(node, x, number);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t list, paddingList(node, x));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t value, padValue(node, x));
  return moveElements(node, PAD_V2, x, {list, value});
}

Status convertMirrorPad(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t list, paddingList(node, x));
  const tfl::MirrorPadMode mode = node.options<tfl::MirrorPadOptions>()->mode();
  HALYARD_ASSIGN_OR_RETURN(const uint32_t code,
                           node.builder().int32Scalar(mode == tfl::MirrorPadMode::REFLECT ? 0 : 1));
  return moveElements(node, MIRROR_PAD, x, {list, code});
}

// Reverses one axis after the other, because NNAPI's operation has only one.
Status convertReverse(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> axes,
                           node.constantInts(1, "the list of axes", kMostDimensions));
  if (axes.empty()) return unsupported("no axis");
  HALYARD_ASSIGN_OR_RETURN(uint32_t x, node.input(0));
  const size_t rank = node.operand(x).dimensions.size();
  for (size_t i = 0; i < axes.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const size_t at, Node::normalizedAxis(axes[i], rank));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t list, listOf(node, {static_cast<int32_t>(at)}));
    if (i + 1 == axes.size()) return moveElements(node, REVERSE, x, {list});
    HALYARD_ASSIGN_OR_RETURN(const uint32_t between, node.temporaryLike(x, "reversed"));
    HALYARD_RETURN_IF_ERROR(node.builder().addOperation(REVERSE, {x, list}, {between}));
    x = between;
  }
  return okStatus();
}

using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;

constexpr Converter kMovementConverters[] = {
    {Op::SLICE, Opt::SliceOptions, kMayLack, convertSlice,
     kTakesInt64 | kTakesOpenDimensions | kTakesInt16},
    {Op::SPLIT, Opt::SplitOptions, kNeeds, convertSplit,
     kTakesInt64 | kTakesOpenDimensions | kTakesInt16},
    {Op::SPLIT_V, Opt::SplitVOptions, kMayLack, convertSplitV, kTakesInt64 | kTakesInt16},
    {Op::UNPACK, Opt::UnpackOptions, kNeeds, convertUnpack, kTakesInt64 | kTakesInt16},
    {Op::TILE, Opt::TileOptions, kMayLack, convertTile,
     kTakesInt64 | kTakesOpenDimensions | kTakesInt16},
    {Op::EMBEDDING_LOOKUP, Opt::NONE, kMayLack, convertEmbeddingLookup,
     kTakesInt64 | kTakesOpenRank},
    {Op::SPACE_TO_DEPTH, Opt::SpaceToDepthOptions, kNeeds, convertSpaceToDepth,
     kTakesOpenDimensions | kTakesInt16},
    {Op::DEPTH_TO_SPACE, Opt::DepthToSpaceOptions, kNeeds, convertDepthToSpace,
     kTakesOpenDimensions | kTakesInt16},
    {Op::SPACE_TO_BATCH_ND, Opt::SpaceToBatchNDOptions, kMayLack, convertSpaceToBatch,
     kTakesOpenDimensions | kTakesInt16},
    {Op::BATCH_TO_SPACE_ND, Opt::BatchToSpaceNDOptions, kMayLack, convertBatchToSpace, kTakesInt16},
    {Op::PAD, Opt::PadOptions, kMayLack, convertPad,
     kTakesInt64 | kTakesOpenDimensions | kTakesInt16},
    {Op::PADV2, Opt::PadV2Options, kMayLack, convertPadV2,
     kTakesInt64 | kTakesOpenDimensions | kTakesInt16},
    {Op::MIRROR_PAD, Opt::MirrorPadOptions, kNeeds, convertMirrorPad,
     kTakesOpenDimensions | kTakesInt16},
    {Op::REVERSE_V2, Opt::ReverseV2Options, kMayLack, convertReverse,
     kTakesInt64 | kTakesOpenDimensions | kTakesInt16},
};

}  // namespace

std::span<const Converter> movementConverters() { return kMovementConverters; }

}  // namespace halyard::import

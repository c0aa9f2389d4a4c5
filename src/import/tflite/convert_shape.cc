// Converts operators that move elements or reduce along axes: reshape and related operators,
// transpose, concatenation, mean.
#include <algorithm>

#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

bool isComplex(const Node& node) {
  const Result<FileTensor> tensor = node.inputInfo(0);
  return tensor.ok() && tensor->type == tfl::TensorType::COMPLEX64;
}

// Returns the dimensions of an operand as in the file: of complex numbers, not of pairs.
Shape unpairedDims(const Node& node, uint32_t x) {
  Shape dims = node.operand(x).dimensions;
  if (isComplex(node) && !dims.empty()) dims.back() /= 2;
  return dims;
}

// Declares the output and copies the input into it with shape `dims` (empty: a scalar).
Status reshapeTo(Node& node, Shape dims) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  if (dims.empty()) dims = {1};
  if (isComplex(node)) dims.back() *= 2;
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
  return node.reshapeAs(x, std::move(dims), y);
}

// Returns whether the shape of a RESHAPE has no elements.
bool isToScalar(const Node& node) {
  return node.hasInput(1) && node.builder().file().isEmptyList(node.inputTensor(1));
}

// Returns the target shape of a RESHAPE: input 1 if present, otherwise the options.
Result<std::vector<int32_t>> reshapeTarget(Node& node) {
  if (isToScalar(node)) return std::vector<int32_t>();
  if (node.isKnown(1)) return node.constantInts(1, "the new shape", kMostDimensions);
  if (node.hasInput(1)) {
    // A dimension that only an execution knows becomes -1, so that it follows from the others.
    HALYARD_ASSIGN_OR_RETURN(const uint32_t shape, node.input(1));
    const std::span<const int32_t> known = node.builder().knownInts(shape);
    std::vector<int32_t> target(known.begin(), known.end());
    std::ranges::replace(target, GraphBuilder::kOpenInt, -1);
    return target;
  }
  HALYARD_ASSIGN_OR_RETURN(const std::optional<std::span<const int32_t>> shape,
                           node.optionList(tfl::ReshapeOptions::VT_NEW_SHAPE));
  if (!shape) return badData("has no new shape, neither as an input nor in its options");
  // Old files have the shape [0] for a scalar.
  if (shape->size() == 1 && (*shape)[0] == 0) return std::vector<int32_t>();
  if (shape->size() > kMostDimensions) {
    return badData("the new shape has {} values, at most {} are supported", shape->size(),
                   kMostDimensions);
  }
  return std::vector<int32_t>(shape->begin(), shape->end());
}

// Replaces -1 by the dimension that follows from the number of elements, or by 0 if that is
// unknown.
Result<Shape> resolveTarget(const std::vector<int32_t>& target, const Shape& from) {
  const bool isOpen = from.empty() || std::ranges::find(from, 0u) != from.end();
  const std::optional<uint32_t> count = knownElementCount(from);
  uint64_t product = 1;
  std::optional<size_t> open;
  Shape dims;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] == -1 && !open) {
      open = i;
    } else if (target[i] < 1) {
      return badData("the new shape has {} at {}", target[i], i);
    } else {
      product *= static_cast<uint64_t>(target[i]);
    }
    if (product > UINT32_MAX) return badData("the new shape is too large");
    dims.push_back(static_cast<uint32_t>(std::max(target[i], 1)));
  }
  if (isOpen) {
    if (open) dims[*open] = 0;
    return dims;
  }
  if (open && count) {
    dims[*open] = static_cast<uint32_t>(*count / product);
    product *= dims[*open];
  }
  if (!count || product != *count) {
    return badData("the new shape does not hold the {} elements of {}", count.value_or(0),
                   shapeText(from));
  }
  return dims;
}

// The target is an input of the execution.
Status reshapeToComputed(Node& node) {
  if (isComplex(node)) return unsupported("of COMPLEX64 to a shape that is computed at run time");
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t shape, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
  return node.builder().addOperation(OperationType::RESHAPE, {x, shape}, {y});
}

Status convertReshape(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(std::vector<int32_t> target, reshapeTarget(node));
  const bool isComputed = node.hasInput(1) && !node.isKnown(1) && !isToScalar(node);
  if (isComputed && (target.empty() || std::ranges::count(target, -1) > 1)) {
    return reshapeToComputed(node);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  const Shape from = unpairedDims(node, x);
  // The file's batch of 1 becomes the batch of the import.
  const uint32_t batch = node.builder().options().batch;
  if (batch != 0 && !target.empty() && target[0] == 1 && !from.empty() && from[0] == batch) {
    target[0] = static_cast<int32_t>(batch);
  }
  HALYARD_ASSIGN_OR_RETURN(Shape dims, resolveTarget(target, from));
  return reshapeTo(node, std::move(dims));
}

// Returns the dimensions, as constants if the importer knows them.
Status convertShapeOf(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor from, node.inputInfo(0));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  if (to.type != tfl::TensorType::INT32 && to.type != tfl::TensorType::INT64) {
    return badData("the output ({}) is {}, expected INT32 or INT64", to.text(),
                   tensorTypeName(to.type));
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  const Shape dims = unpairedDims(node, x);
  if (from.dims.empty() && dims == Shape{1}) {
    return unsupported("of {}, a scalar: empty tensors are not supported", from.text());
  }
  if (dims.size() > kMostDimensions) return unsupported("rank {}", dims.size());
  std::vector<int32_t> values;
  for (const uint32_t d : dims) {
    if (d > INT32_MAX) return unsupported("dimension {} needs more than 31 bits", d);
    values.push_back(d == 0 ? GraphBuilder::kOpenInt : static_cast<int32_t>(d));
  }
  if (knownElementCount(dims)) {
    HALYARD_ASSIGN_OR_RETURN(
        const uint32_t constant,
        node.builder().int32Tensor({static_cast<uint32_t>(values.size())}, values));
    return node.forward(0, constant);
  }
  if (isComplex(node)) return unsupported("of COMPLEX64 of a shape that only an execution knows");
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  if (!values.empty()) {
    node.builder().operand(y).dimensions = {static_cast<uint32_t>(values.size())};
    node.builder().keepKnownInts(y, std::move(values));
  }
  return node.builder().addOperation(OperationType::SHAPE, {x}, {y});
}

Status convertSqueeze(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  const Shape from = unpairedDims(node, x);
  HALYARD_ASSIGN_OR_RETURN(const std::optional<std::span<const int32_t>> axes,
                           node.optionList(tfl::SqueezeOptions::VT_SQUEEZE_DIMS));
  std::vector<bool> drop(from.size(), false);
  if (!axes || axes->empty()) {
    if (std::ranges::find(from, 0u) != from.end()) {
      return unsupported("of all ones of {}, which only an execution knows", shapeText(from));
    }
    for (size_t i = 0; i < from.size(); ++i) drop[i] = from[i] == 1;
  } else {
    for (int32_t axis : *axes) {
      HALYARD_ASSIGN_OR_RETURN(const size_t i, Node::normalizedAxis(axis, from.size()));
      if (from[i] > 1) {
        return badData("dimension {} of {} is to go, but is not 1", i, shapeText(from));
      }
      drop[i] = true;
    }
  }
  Shape dims;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!drop[i]) dims.push_back(from[i]);
  }
  return reshapeTo(node, std::move(dims));
}

Status convertExpandDims(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> axis, node.constantInts(1, "the axis", 1));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  // Rank 0 in the file is rank 1 in the model.
  Shape dims = tensor.dims.empty() && node.operand(x).dimensions == Shape{1}
                   ? Shape()
                   : unpairedDims(node, x);
  HALYARD_ASSIGN_OR_RETURN(const size_t at, Node::normalizedAxis(axis[0], dims.size() + 1));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), 1);
  return reshapeTo(node, std::move(dims));
}

// The limit of elements for operators that NNAPI has not for integers.
constexpr uint32_t kMostIntegers = 1u << 20;

// NNAPI transposes neither integers nor booleans. It gathers them in the order of the result.
Status transposeIntegers(Node& node, uint32_t x, const std::vector<int32_t>& order, uint32_t y) {
  const Shape dims = node.operand(x).dimensions;
  const std::optional<uint32_t> count = knownElementCount(dims);
  if (!count || *count > kMostIntegers || order.size() != dims.size()) {
    return unsupported("of integers of the shape {}, at most {} elements are supported",
                       shapeText(dims), kMostIntegers);
  }
  std::vector<uint32_t> strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  Shape result;
  for (const int32_t d : order) result.push_back(dims[static_cast<size_t>(d)]);
  HALYARD_RETURN_IF_ERROR(node.builder().spend(uint64_t{*count} * sizeof(int32_t)));
  std::vector<int32_t> indices(*count);
  for (uint32_t i = 0; i < *count; ++i) {
    uint32_t rest = i;
    uint32_t index = 0;
    for (size_t d = result.size(); d-- > 0; rest /= result[d]) {
      index += rest % result[d] * strides[static_cast<size_t>(order[d])];
    }
    indices[i] = static_cast<int32_t>(index);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t flat, node.reshapedTo(x, {*count}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t axis, node.builder().int32Scalar(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t list, node.builder().int32Tensor({*count}, indices));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t gathered, node.temporaryLike(x, "gathered"));
  HALYARD_RETURN_IF_ERROR(
      node.builder().addOperation(OperationType::GATHER, {flat, axis, list}, {gathered}));
  return node.reshapeAs(gathered, std::move(result), y);
}

bool isIntegerOrBoolean(const Operand& operand) {
  return operand.type == OperandType::TENSOR_INT32 || operand.type == OperandType::TENSOR_BOOL8;
}

Status convertTranspose(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> order,
                           node.constantInts(1, "the permutation", kMostDimensions));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
  std::vector<int32_t> values;
  for (int32_t axis : order) {
    HALYARD_ASSIGN_OR_RETURN(const size_t i,
                             Node::normalizedAxis(axis, node.operand(x).dimensions.size()));
    values.push_back(static_cast<int32_t>(i));
  }
  if (isIntegerOrBoolean(node.operand(x))) return transposeIntegers(node, x, values, y);
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t perm,
      node.builder().int32Tensor({static_cast<uint32_t>(values.size())}, values));
  return node.builder().addOperation(OperationType::TRANSPOSE, {x, perm}, {y});
}

// Splits x into pieces of one element each.
Status appendElements(Node& node, uint32_t x, OperandIndexes& elements) {
  const uint32_t count = node.operand(x).dimensions[0];
  constexpr int32_t kOne = 1;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t one, node.builder().int32Tensor({1}, {&kOne, 1}));
  for (uint32_t i = 0; i < count; ++i) {
    const auto at = static_cast<int32_t>(i);
    HALYARD_ASSIGN_OR_RETURN(const uint32_t begin, node.builder().int32Tensor({1}, {&at, 1}));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t element, node.temporaryLike(x, "element"));
    HALYARD_RETURN_IF_ERROR(
        node.builder().addOperation(OperationType::SLICE, {x, begin, one}, {element}));
    elements.push_back(element);
  }
  return okStatus();
}

// Each part replaces its place in a tensor of zeros.
Status placeParts(Node& node, const OperandIndexes& inputs, size_t axis, uint32_t y) {
  Operand whole = node.operand(inputs[0]);
  whole.lifetime = Lifetime::CONSTANT_COPY;
  whole.location = {};
  uint64_t extent = 0;
  for (const uint32_t x : inputs) {
    const Shape& dims = node.operand(x).dimensions;
    if (!knownElementCount(dims) || dims.size() != whole.dimensions.size()) {
      return unsupported("of integers of the shape {}", shapeText(dims));
    }
    extent += dims[axis];
  }
  if (extent > INT32_MAX) return unsupported("of {} integers along one dimension", extent);
  whole.dimensions[axis] = static_cast<uint32_t>(extent);
  const std::optional<uint32_t> size = knownByteSize(whole.type, whole.dimensions);
  if (!size) return unsupported("integers of the shape {}", shapeText(whole.dimensions));
  std::vector<int32_t> start(whole.dimensions.size(), 0);
  HALYARD_ASSIGN_OR_RETURN(uint32_t made,
                           node.builder().addFilledConstant(std::move(whole), *size, 0, "zeros"));
  for (size_t i = 0; i < inputs.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(
        const uint32_t starts,
        node.builder().int32Tensor({static_cast<uint32_t>(start.size())}, start));
    uint32_t to = y;
    if (i + 1 < inputs.size()) {
      HALYARD_ASSIGN_OR_RETURN(to, node.temporaryLike(inputs[0], "parts"));
    }
    HALYARD_RETURN_IF_ERROR(node.builder().addOperation(OperationType::DYNAMIC_UPDATE_SLICE,
                                                        {made, inputs[i], starts}, {to}));
    start[axis] += static_cast<int32_t>(node.operand(inputs[i]).dimensions[axis]);
    made = to;
  }
  return okStatus();
}

// NNAPI does not concatenate integers, but packs them: tensors of one shape, or lists by element.
// kTfliteExtension places tensors of different shapes.
Status concatenateIntegers(Node& node, OperandIndexes inputs, size_t axis, uint32_t y) {
  constexpr uint64_t kMostElements = 256;
  const Shape first = node.operand(inputs[0]).dimensions;
  const bool areAlike =
      std::ranges::all_of(inputs, [&](uint32_t x) { return node.operand(x).dimensions == first; });
  Shape result = first;
  if (areAlike && knownElementCount(first)) {
    result[axis] *= static_cast<uint32_t>(inputs.size());
  } else {
    uint64_t count = 0;
    for (const uint32_t x : inputs) {
      const Shape& dims = node.operand(x).dimensions;
      count += dims.size() == 1 && dims[0] != 0 ? dims[0] : kMostElements + 1;
    }
    if (count > kMostElements) return placeParts(node, inputs, axis, y);
    OperandIndexes elements;
    for (const uint32_t x : inputs) {
      HALYARD_RETURN_IF_ERROR(appendElements(node, x, elements));
    }
    result = {static_cast<uint32_t>(count)};
    inputs = std::move(elements);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar,
                           node.builder().int32Scalar(static_cast<int32_t>(axis)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t packed, node.temporaryLike(inputs[0], "packed"));
  inputs.insert(inputs.begin(), scalar);
  HALYARD_RETURN_IF_ERROR(
      node.builder().addOperation(OperationType::PACK, std::move(inputs), {packed}));
  return node.reshapeAs(packed, std::move(result), y);
}

Status convertConcatenation(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, SIZE_MAX, 1));
  const auto* options = node.options<tfl::ConcatenationOptions>();
  if (options->fused_activation_function() != tfl::ActivationFunctionType::NONE) {
    return unsupported("a fused activation, NNAPI's has none");
  }
  OperandIndexes inputs;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    if (node.hasInput(i) && node.builder().file().isEmptyList(node.inputTensor(i))) continue;
    HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(i));
    inputs.push_back(x);
  }
  if (inputs.empty()) return unsupported("all inputs are lists without elements");
  HALYARD_ASSIGN_OR_RETURN(
      const size_t axis,
      Node::normalizedAxis(options->axis(), node.operand(inputs[0]).dimensions.size()));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  if (node.operand(y).type == OperandType::TENSOR_INT32) {
    return concatenateIntegers(node, std::move(inputs), axis, y);
  }
  if (node.operand(y).type == OperandType::TENSOR_BOOL8) return placeParts(node, inputs, axis, y);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar,
                           node.builder().int32Scalar(static_cast<int32_t>(axis)));
  inputs.push_back(scalar);
  return node.builder().addOperation(OperationType::CONCATENATION, std::move(inputs), {y});
}

// The limit of integers in a mean. The sum of as many remainders still fits into 32 bits.
constexpr uint32_t kMostInMean = 46340;

// TFLite adds in 64 bits and rounds the mean towards zero. Here no step needs more than 32 bits:
// each element is the count times its quotient, plus its remainder. Quotients and remainders have
// sums of their own. The mean, rounded down, is the first sum plus the quotient of the second one.
// If it is negative and a rest remains, the result is one more.
Status meanOfIntegers(Node& node, uint32_t x, uint32_t y) {
  using enum OperationType;
  GraphBuilder& builder = node.builder();
  HALYARD_ASSIGN_OR_RETURN(const size_t reduced, reducedCount(node, x));
  if (reduced > kMostInMean) {
    return unsupported("of {} integers each, at most {} are supported", reduced, kMostInMean);
  }
  const auto number = [&](int32_t value) { return builder.int32Tensor({1}, {&value, 1}); };
  const auto append = [&](OperationType type, OperandIndexes inputs) -> Result<uint32_t> {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t to, node.temporaryLike(x, operationTypeName(type)));
    HALYARD_RETURN_IF_ERROR(builder.addOperation(type, std::move(inputs), {to}));
    return to;
  };
  const auto sumOf = [&](uint32_t of) -> Result<uint32_t> {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t to, node.temporaryLike(x, "sum"));
    HALYARD_RETURN_IF_ERROR(reduceIntegers(node, UNSORTED_SEGMENT_SUM, of, to));
    return to;
  };
  HALYARD_ASSIGN_OR_RETURN(const uint32_t none, builder.int32Scalar(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t count, number(static_cast<int32_t>(reduced)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t quotients, append(TRUNCATED_DIV, {x, count}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t wholes, append(MUL, {quotients, count, none}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t remainders, append(SUB, {x, wholes, none}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t sum, sumOf(quotients));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t restSum, sumOf(remainders));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t more, append(DIV, {restSum, count, none}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t floor, append(ADD, {sum, more, none}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t rest, append(FLOOR_MOD, {restSum, count}));
  // -1 if the floor is negative and a rest remains, otherwise 0.
  HALYARD_ASSIGN_OR_RETURN(const uint32_t zero, number(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t one, number(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t minusOne, number(-1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t hasRest, append(MINIMUM, {rest, one}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t negative, append(MINIMUM, {floor, zero}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t sign, append(MAXIMUM, {negative, minusOne}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t less, append(MUL, {sign, hasRest, none}));
  return builder.addOperation(SUB, {floor, less, none}, {y});
}

Status convertMean(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> axes,
                           node.constantInts(1, "the list of axes", kMostDimensions));
  const auto* options = node.options<tfl::ReducerOptions>();
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  GraphBuilder& builder = node.builder();
  if (node.operand(x).type == OperandType::TENSOR_INT32) return meanOfIntegers(node, x, y);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t list,
                           builder.int32Tensor({static_cast<uint32_t>(axes.size())}, axes));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t keep,
                           builder.int32Scalar(options != nullptr && options->keep_dims() ? 1 : 0));
  if (!isQuant8Asymm(node.operand(x).type) || node.sameQuantization(x, y)) {
    HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
    return builder.addOperation(OperationType::MEAN, {x, list, keep}, {y});
  }
  // NNAPI's mean keeps the quantisation. Rounding to the input's steps and then to the output's,
  // which are usually finer, would lose more than the one necessary rounding.
  return node.applyInFloat(OperationType::MEAN, x, {list, keep}, y);
}

constexpr Takes kAnyForm = kTakesInt64 | kTakesComplex | kTakesUnscaled | kTakesOpenDimensions;

constexpr Converter kShapeConverters[] = {
    {tfl::BuiltinOperator::RESHAPE, tfl::BuiltinOptions::ReshapeOptions, OptionsNeed::OPTIONAL,
     convertReshape, kAnyForm | kTakesOpenRank | kTakesInt16},
    {tfl::BuiltinOperator::SQUEEZE, tfl::BuiltinOptions::SqueezeOptions, OptionsNeed::OPTIONAL,
     convertSqueeze, kAnyForm | kTakesInt16},
    {tfl::BuiltinOperator::EXPAND_DIMS, tfl::BuiltinOptions::ExpandDimsOptions,
     OptionsNeed::OPTIONAL, convertExpandDims, kAnyForm | kTakesInt16},
    {tfl::BuiltinOperator::SHAPE, tfl::BuiltinOptions::ShapeOptions, OptionsNeed::OPTIONAL,
     convertShapeOf, kAnyForm | kTakesOpenRank | kTakesInt16},
    {tfl::BuiltinOperator::TRANSPOSE, tfl::BuiltinOptions::TransposeOptions, OptionsNeed::OPTIONAL,
     convertTranspose, kTakesInt64 | kTakesOpenDimensions | kTakesInt16},
    {tfl::BuiltinOperator::CONCATENATION, tfl::BuiltinOptions::ConcatenationOptions,
     OptionsNeed::REQUIRED, convertConcatenation, kTakesInt64 | kTakesOpenDimensions | kTakesInt16},
    {tfl::BuiltinOperator::MEAN, tfl::BuiltinOptions::ReducerOptions, OptionsNeed::OPTIONAL,
     convertMean, kTakesOpenRank | kTakesInt16},
};

}  // namespace

std::span<const Converter> shapeConverters() { return kShapeConverters; }

}  // namespace halyard::import

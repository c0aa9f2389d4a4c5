// Operators that move elements or reduce along axes: reshape and its relatives, transpose,
// concatenation, mean.
#include <algorithm>

#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

constexpr size_t kMaxRank = 8;

// Declares the output and copies the input into it under `dims` (empty: a scalar).
Status reshapeTo(Node& node, Shape dims) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  if (dims.empty()) dims = {1};
  Operand& declared = node.builder().operand(y);
  if (declared.dimensions.empty()) declared.dimensions = dims;
  if (declared.dimensions != dims) {
    return badData("the output is {} in the file, the operator makes it {}",
                   shapeText(declared.dimensions), shapeText(dims));
  }
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
  return node.reshape(x, y);
}

// The target shape of a RESHAPE: input 1 when given, otherwise the options.
Result<std::vector<int32_t>> reshapeTarget(const Node& node) {
  if (node.hasInput(1)) return node.constantInts(1, "the new shape", kMaxRank);
  HALYARD_ASSIGN_OR_RETURN(const std::optional<std::span<const int32_t>> shape,
                           node.optionList(tfl::ReshapeOptions::VT_NEW_SHAPE));
  if (!shape) return badData("has no new shape, neither as an input nor in its options");
  if (shape->size() > kMaxRank) {
    return badData("the new shape has {} values, at most {} are supported", shape->size(),
                   kMaxRank);
  }
  return std::vector<int32_t>(shape->begin(), shape->end());
}

// Replaces -1 by what the number of elements leaves for it.
Result<Shape> resolveTarget(const std::vector<int32_t>& target, const Shape& from) {
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

Status convertReshape(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> target, reshapeTarget(node));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(Shape dims, resolveTarget(target, node.operand(x).dimensions));
  return reshapeTo(node, std::move(dims));
}

Status convertSqueeze(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  const Shape& from = node.operand(x).dimensions;
  HALYARD_ASSIGN_OR_RETURN(const std::optional<std::span<const int32_t>> axes,
                           node.optionList(tfl::SqueezeOptions::VT_SQUEEZE_DIMS));
  std::vector<bool> drop(from.size(), false);
  if (!axes || axes->empty()) {
    for (size_t i = 0; i < from.size(); ++i) drop[i] = from[i] == 1;
  } else {
    for (int32_t axis : *axes) {
      HALYARD_ASSIGN_OR_RETURN(const size_t i, Node::normalizedAxis(axis, from.size()));
      if (from[i] != 1) {
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
  Shape dims = tensor.dims.empty() ? Shape() : node.operand(x).dimensions;
  HALYARD_ASSIGN_OR_RETURN(const size_t at, Node::normalizedAxis(axis[0], dims.size() + 1));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), 1);
  return reshapeTo(node, std::move(dims));
}

Status convertTranspose(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> order,
                           node.constantInts(1, "the permutation", kMaxRank));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
  std::vector<int32_t> values;
  for (int32_t axis : order) {
    HALYARD_ASSIGN_OR_RETURN(const size_t i,
                             Node::normalizedAxis(axis, node.operand(x).dimensions.size()));
    values.push_back(static_cast<int32_t>(i));
  }
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t perm,
      node.builder().int32Tensor({static_cast<uint32_t>(values.size())}, values));
  return node.builder().addOperation(OperationType::TRANSPOSE, {x, perm}, {y});
}

Status convertConcatenation(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, SIZE_MAX, 1));
  const auto* options = node.options<tfl::ConcatenationOptions>();
  if (options->fused_activation_function() != tfl::ActivationFunctionType::NONE) {
    return unsupported("a fused activation, NNAPI's has none");
  }
  OperandIndexes inputs;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(i));
    inputs.push_back(x);
  }
  HALYARD_ASSIGN_OR_RETURN(
      const size_t axis,
      Node::normalizedAxis(options->axis(), node.operand(inputs[0]).dimensions.size()));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar,
                           node.builder().int32Scalar(static_cast<int32_t>(axis)));
  inputs.push_back(scalar);
  return node.builder().addOperation(OperationType::CONCATENATION, std::move(inputs), {y});
}

Status convertMean(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> axes,
                           node.constantInts(1, "the list of axes", kMaxRank));
  const auto* options = node.options<tfl::ReducerOptions>();
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  GraphBuilder& builder = node.builder();
  HALYARD_ASSIGN_OR_RETURN(const uint32_t list,
                           builder.int32Tensor({static_cast<uint32_t>(axes.size())}, axes));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t keep,
                           builder.int32Scalar(options != nullptr && options->keep_dims() ? 1 : 0));
  if (!isQuant8Asymm(node.operand(x).type) || node.sameQuantization(x, y)) {
    HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
    return builder.addOperation(OperationType::MEAN, {x, list, keep}, {y});
  }
  // NNAPI's mean keeps the quantisation. Rounding to the input's steps and then to the output's,
  // which are finer as a rule, would lose more than the one rounding that is due.
  return node.applyInFloat(OperationType::MEAN, x, {list, keep}, y);
}

constexpr Converter kConverters[] = {
    {tfl::BuiltinOperator::RESHAPE, tfl::BuiltinOptions::ReshapeOptions, OptionsNeed::OPTIONAL,
     convertReshape},
    {tfl::BuiltinOperator::SQUEEZE, tfl::BuiltinOptions::SqueezeOptions, OptionsNeed::OPTIONAL,
     convertSqueeze},
    {tfl::BuiltinOperator::EXPAND_DIMS, tfl::BuiltinOptions::ExpandDimsOptions,
     OptionsNeed::OPTIONAL, convertExpandDims},
    {tfl::BuiltinOperator::TRANSPOSE, tfl::BuiltinOptions::TransposeOptions, OptionsNeed::OPTIONAL,
     convertTranspose},
    {tfl::BuiltinOperator::CONCATENATION, tfl::BuiltinOptions::ConcatenationOptions,
     OptionsNeed::REQUIRED, convertConcatenation},
    {tfl::BuiltinOperator::MEAN, tfl::BuiltinOptions::ReducerOptions, OptionsNeed::OPTIONAL,
     convertMean},
};

}  // namespace

std::span<const Converter> shapeConverters() { return kConverters; }

}  // namespace halyard::import

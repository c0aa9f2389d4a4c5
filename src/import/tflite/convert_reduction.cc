// Converts operators along axes: sums, extremes, positions of extremes, normalisations.
#include <optional>

#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

using enum OperationType;

// The limit of elements of a reduction of integers.
constexpr size_t kMostSegmented = size_t{1} << 22;

// Returns x, the list of axes, and whether they stay.
Result<OperandIndexes> reductionInputs(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> axes,
                           node.constantInts(1, "the list of axes", kMostDimensions));
  const auto* options = node.options<tfl::ReducerOptions>();
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t list,
                           node.builder().int32Tensor({static_cast<uint32_t>(axes.size())}, axes));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t keep,
                           node.builder().boolScalar(options != nullptr && options->keep_dims()));
  return OperandIndexes{x, list, keep};
}

// Returns which dimensions a reduction removes.
Result<std::vector<bool>> reducedDimensions(const Node& node, size_t rank) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> axes,
                           node.constantInts(1, "the list of axes", kMostDimensions));
  std::vector<bool> isReduced(rank, false);
  for (const int32_t axis : axes) {
    HALYARD_ASSIGN_OR_RETURN(const size_t at, Node::normalizedAxis(axis, rank));
    isReduced[at] = true;
  }
  return isReduced;
}

// Returns the segment of each element of the dimensions up to the last reduced one. Elements share
// a segment if they differ only in reduced dimensions. `count`: the number of segments.
std::vector<int32_t> segmentsOf(const Shape& prefix, const std::vector<bool>& isReduced,
                                size_t size, uint32_t* count) {
  *count = 1;
  for (size_t d = 0; d < prefix.size(); ++d) *count *= isReduced[d] ? 1 : prefix[d];
  std::vector<int32_t> segments(size);
  for (size_t i = 0; i < size; ++i) {
    size_t rest = i;
    size_t stride = 1;
    size_t segment = 0;
    for (size_t d = prefix.size(); d-- > 0; rest /= prefix[d]) {
      if (isReduced[d]) continue;
      segment += rest % prefix[d] * stride;
      stride *= prefix[d];
    }
    segments[i] = static_cast<int32_t>(segment);
  }
  return segments;
}

// Converts operators whose result is an element of the input or a truth value. The quantisation
// stays.
template <OperationType kType>
Status convertChoice(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes inputs, reductionInputs(node));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  if (node.operand(inputs[0]).type == OperandType::TENSOR_INT32) {
    return reduceIntegers(node, kType == REDUCE_MAX ? UNSORTED_SEGMENT_MAX : UNSORTED_SEGMENT_MIN,
                          inputs[0], y);
  }
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, inputs[0]));
  return node.builder().addOperation(kType, std::move(inputs), {y});
}

// Computes the sum or product of known integers in one dimension, as models compute numbers of
// elements. NNAPI supports only floats. Returns false for anything else.
template <OperationType kType>
Result<bool> foldInts(Node& node) {
  constexpr size_t kMost = 32;
  HALYARD_ASSIGN_OR_RETURN(const FileTensor from, node.inputInfo(0));
  const bool isInt = from.type == tfl::TensorType::INT32 || from.type == tfl::TensorType::INT64;
  if (!isInt || !node.isKnown(0) || from.dims.size() != 1) return false;
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> axes,
                           node.constantInts(1, "the list of axes", kMostDimensions));
  if (axes.empty()) return false;
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> values,
                           node.constantInts(0, "input 0", kMost));
  int64_t result = kType == REDUCE_PROD ? 1 : 0;
  for (const int32_t value : values) {
    result = kType == REDUCE_PROD ? result * value : result + value;
    if (result < INT32_MIN || result > INT32_MAX) {
      return unsupported("the constant result {} needs more than 32 bits", result);
    }
  }
  const auto folded = static_cast<int32_t>(result);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t operand, node.builder().int32Tensor({1}, {&folded, 1}));
  HALYARD_RETURN_IF_ERROR(node.forward(0, operand));
  return true;
}

template <OperationType kType>
Status convertAccumulation(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const bool isFolded, foldInts<kType>(node));
  if (isFolded) return okStatus();
  HALYARD_ASSIGN_OR_RETURN(const OperandIndexes inputs, reductionInputs(node));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  if (node.operand(inputs[0]).type == OperandType::TENSOR_INT32) {
    HALYARD_ASSIGN_OR_RETURN(const FileTensor from, node.inputInfo(0));
    if (from.type == tfl::TensorType::INT64) {
      return unsupported("{} is INT64: NNAPI's integers have 32 bits, results may need more",
                         from.text());
    }
    return reduceIntegers(node, kType == REDUCE_PROD ? UNSORTED_SEGMENT_PROD : UNSORTED_SEGMENT_SUM,
                          inputs[0], y);
  }
  if (kType == REDUCE_PROD && isQuant8Asymm(node.operand(inputs[0]).type)) {
    return unsupported("of quantised values: TFLite rounds after each product");
  }
  return node.applyInFloat(kType, inputs[0], {inputs[1], inputs[2]}, y);
}

// For equal values, both TFLite and NNAPI take the first.
template <OperationType kType>
Status convertArg(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> axis, node.constantInts(1, "the axis", 1));
  if (axis.empty()) return badData("the axis has no value");
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar, node.builder().int32Scalar(axis[0]));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(kType, {x, scalar}, {y});
}

// Returns the index of the last element along the last dimension.
Result<uint32_t> lastIndex(Node& node, uint32_t x) {
  GraphBuilder& builder = node.builder();
  const Shape dims = node.operand(x).dimensions;
  if (dims.empty()) return unsupported("of a rank that only an execution knows");
  if (dims.back() != 0) {
    const auto last = static_cast<int32_t>(dims.back() - 1);
    return builder.int32Tensor({1}, {&last, 1});
  }
  const auto rank = static_cast<uint32_t>(dims.size());
  const auto axis = static_cast<int32_t>(rank - 1);
  const int32_t one = 1;
  constexpr OperandType kInt = OperandType::TENSOR_INT32;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t at, builder.int32Tensor({1}, {&axis, 1}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t ones, builder.int32Tensor({1}, {&one, 1}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t none, builder.int32Scalar(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t shape, builder.addTemporary(kInt, {rank}, 0, 0, "shape"));
  HALYARD_RETURN_IF_ERROR(builder.addOperation(SHAPE, {x}, {shape}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t count, builder.addTemporary(kInt, {1}, 0, 0, "count"));
  HALYARD_RETURN_IF_ERROR(builder.addOperation(SLICE, {shape, at, ones}, {count}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t last, builder.addTemporary(kInt, {1}, 0, 0, "last"));
  HALYARD_RETURN_IF_ERROR(builder.addOperation(SUB, {count, ones, none}, {last}));
  return last;
}

// Of equal values, NNAPI takes the one with the greater index first, TFLite the one with the
// smaller index. So NNAPI's operation gets the elements in the opposite order.
Status convertTopK(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 2));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> count,
                           node.constantInts(1, "the number of values", 1));
  if (count.empty()) return badData("the number of values has no value");
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t last, lastIndex(node, x));
  const auto rank = static_cast<int32_t>(node.operand(x).dimensions.size());
  const int32_t lastAxis = rank - 1;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t axis, node.builder().int32Tensor({1}, {&lastAxis, 1}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t reversed, node.temporaryLike(x, "reversed"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(REVERSE, {x, axis}, {reversed}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar, node.builder().int32Scalar(count[0]));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t none, node.builder().int32Scalar(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t values, node.output(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t indices, node.output(1));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(values, x));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t found, node.temporaryLike(indices, "in reverse"));
  HALYARD_RETURN_IF_ERROR(
      node.builder().addOperation(TOPK_V2, {reversed, scalar}, {values, found}));
  return node.builder().addOperation(SUB, {last, found, none}, {indices});
}

Status convertL2Normalization(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  const auto* options = node.options<tfl::L2NormOptions>();
  if (options != nullptr &&
      options->fused_activation_function() != tfl::ActivationFunctionType::NONE) {
    return unsupported("a fused activation, NNAPI's has none");
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  const OperandType type = node.operand(y).type;
  if (isQuant8Asymm(type)) {
    HALYARD_RETURN_IF_ERROR(node.fixQuantization(
        y, 1.0f / 128.0f, type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED ? 0 : 128));
  }
  return node.builder().addOperation(L2_NORMALIZATION, {x}, {y});
}

Status convertLocalResponseNormalization(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  const auto& options = *node.options<tfl::LocalResponseNormalizationOptions>();
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t radius, node.builder().int32Scalar(options.radius()));
  OperandIndexes inputs = {x, radius};
  for (float value : {options.bias(), options.alpha(), options.beta()}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar,
                             node.builder().floatScalar(node.operand(x).type, value));
    inputs.push_back(scalar);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(LOCAL_RESPONSE_NORMALIZATION, std::move(inputs), {y});
}

Status convertLogSoftmax(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t beta,
                           node.builder().floatScalar(node.operand(x).type, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t axis, node.builder().int32Scalar(-1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.applyInFloat(LOG_SOFTMAX, x, {beta, axis}, y);
}

using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;

constexpr Converter kReductionConverters[] = {
    {Op::REDUCE_ALL, Opt::ReducerOptions, kMayLack, convertChoice<REDUCE_ALL>, kTakesOpenRank},
    {Op::REDUCE_ANY, Opt::ReducerOptions, kMayLack, convertChoice<REDUCE_ANY>, kTakesOpenRank},
    {Op::REDUCE_MAX, Opt::ReducerOptions, kMayLack, convertChoice<REDUCE_MAX>,
     kTakesInt64 | kTakesOpenRank | kTakesInt16},
    {Op::REDUCE_MIN, Opt::ReducerOptions, kMayLack, convertChoice<REDUCE_MIN>,
     kTakesInt64 | kTakesOpenRank | kTakesInt16},
    {Op::REDUCE_PROD, Opt::ReducerOptions, kMayLack, convertAccumulation<REDUCE_PROD>,
     kTakesInt64 | kTakesOpenRank},
    {Op::SUM, Opt::ReducerOptions, kMayLack, convertAccumulation<REDUCE_SUM>,
     kTakesInt64 | kTakesOpenRank | kTakesInt16},
    {Op::ARG_MAX, Opt::ArgMaxOptions, kMayLack, convertArg<ARGMAX>,
     kTakesInt64 | kTakesOpenRank | kTakesInt16},
    {Op::ARG_MIN, Opt::ArgMinOptions, kMayLack, convertArg<ARGMIN>,
     kTakesInt64 | kTakesOpenRank | kTakesInt16},
    {Op::TOPK_V2, Opt::TopKV2Options, kMayLack, convertTopK, kTakesOpenRank},
    {Op::L2_NORMALIZATION, Opt::L2NormOptions, kMayLack, convertL2Normalization, kTakesOpenRank},
    {Op::LOCAL_RESPONSE_NORMALIZATION, Opt::LocalResponseNormalizationOptions,
     OptionsNeed::REQUIRED, convertLocalResponseNormalization, kTakesOpenRank},
    {Op::LOG_SOFTMAX, Opt::LogSoftmaxOptions, kMayLack, convertLogSoftmax, kTakesOpenRank},
};

}  // namespace

Status reduceIntegers(Node& node, OperationType type, uint32_t x, uint32_t y) {
  const Shape dims = node.operand(x).dimensions;
  const std::optional<uint32_t> size = knownElementCount(dims);
  if (!size || *size > kMostSegmented) {
    return unsupported("of integers of the shape {}, at most {} elements are supported",
                       shapeText(dims), kMostSegmented);
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> isReduced, reducedDimensions(node, dims.size()));
  const auto* options = node.options<tfl::ReducerOptions>();
  const bool keeps = options != nullptr && options->keep_dims();
  Shape prefix, result;
  size_t elements = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!isReduced[d]) {
      result.push_back(dims[d]);
      continue;
    }
    if (keeps) result.push_back(1);
    for (size_t k = prefix.size(); k <= d; ++k) {
      prefix.push_back(dims[k]);
      elements *= dims[k];
    }
  }
  if (prefix.empty()) return unsupported("no axis");
  uint32_t count = 1;
  HALYARD_RETURN_IF_ERROR(node.builder().spend(elements * sizeof(int32_t)));
  const std::vector<int32_t> segments = segmentsOf(prefix, isReduced, elements, &count);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t list,
                           node.builder().int32Tensor(std::move(prefix), segments));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t number,
                           node.builder().int32Scalar(static_cast<int32_t>(count)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t combined, node.temporaryLike(x, "combined"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(type, {x, list, number}, {combined}));
  return node.reshapeAs(combined, result.empty() ? Shape{1} : std::move(result), y);
}

Result<size_t> reducedCount(const Node& node, uint32_t x) {
  const Shape dims = node.operand(x).dimensions;
  HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> isReduced, reducedDimensions(node, dims.size()));
  size_t count = 1;
  for (size_t d = 0; d < dims.size(); ++d) count *= isReduced[d] ? dims[d] : 1;
  return count;
}

std::span<const Converter> reductionConverters() { return kReductionConverters; }

}  // namespace halyard::import

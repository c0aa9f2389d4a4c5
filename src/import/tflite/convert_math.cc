// Converts functions of one, two or three elements: mathematics, comparison, logic, selection,
// casts.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

using enum OperationType;

// x and y of an operator with one input and one output.
struct UnaryOperands {
  uint32_t x, y;
};

Result<UnaryOperands> unaryOperands(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return UnaryOperands{x, y};
}

// Converts operations that NNAPI supports for floats, and for some also for integers.
template <OperationType kType>
Status convertUnary(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(const UnaryOperands operands, unaryOperands(node));
  return node.applyInFloat(kType, operands.x, {}, operands.y);
}

// A quantised hyperbolic tangent covers [-1, 1) in steps of 1/128.
Status convertTanh(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(const UnaryOperands operands, unaryOperands(node));
  const OperandType type = node.operand(operands.y).type;
  if (isQuant8Asymm(type)) {
    HALYARD_RETURN_IF_ERROR(node.fixQuantization(
        operands.y, 1.0f / 128.0f, type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED ? 0 : 128));
  }
  return node.builder().addOperation(TANH, {operands.x}, {operands.y});
}

Status convertElu(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(const UnaryOperands operands, unaryOperands(node));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t alpha,
                           node.builder().floatScalar(node.operand(operands.x).type, 1));
  return node.applyInFloat(ELU, operands.x, {alpha}, operands.y);
}

// Converts to a PRELU with one slope for all elements.
Status convertLeakyRelu(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(const UnaryOperands operands, unaryOperands(node));
  const auto* options = node.options<tfl::LeakyReluOptions>();
  if (node.operand(operands.x).type == OperandType::TENSOR_FLOAT16) {
    return unsupported("FLOAT16");
  }
  const float value = options->alpha();
  HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes, node.builder().newBytes(sizeof(value)));
  std::memcpy(bytes.data(), &value, sizeof(value));
  Operand slope;
  slope.type = OperandType::TENSOR_FLOAT32;
  slope.dimensions = {1};
  HALYARD_ASSIGN_OR_RETURN(const uint32_t alpha,
                           node.builder().addOwnConstant(std::move(slope), bytes, "slope"));
  return node.applyInFloat(PRELU, operands.x, {alpha}, operands.y);
}

// Computes ceil(x) as -floor(-x).
Status convertCeil(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(const UnaryOperands operands, unaryOperands(node));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t negative, node.temporaryLike(operands.x, "negative"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(NEG, {operands.x}, {negative}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t floor, node.temporaryLike(operands.x, "floor"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(FLOOR, {negative}, {floor}));
  return node.builder().addOperation(NEG, {floor}, {operands.y});
}

Status convertSquare(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(const UnaryOperands operands, unaryOperands(node));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t none, node.builder().int32Scalar(0));
  return node.multiply(operands.x, operands.x, none, operands.y);
}

// Returns the inputs of a binary operator on floats, with its fused activation.
Result<OperandIndexes> floatPair(Node& node, tfl::ActivationFunctionType activation) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const int32_t fuse, Node::fuseCode(activation));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t a, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t b, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t code, node.builder().int32Scalar(fuse));
  return OperandIndexes{a, b, code};
}

// Replaces the first two inputs by their values in float if they are quantised. Returns the operand
// for the result: y, or floats that quantizeResult writes to y.
Result<uint32_t> resultInFloat(Node& node, OperandIndexes& inputs, uint32_t y) {
  for (size_t i : {0, 1}) {
    if (!isQuant8Asymm(node.operand(inputs[i]).type)) continue;
    HALYARD_ASSIGN_OR_RETURN(inputs[i], node.dequantized(inputs[i]));
  }
  if (!isQuant8Asymm(node.operand(y).type)) return y;
  return node.builder().addTemporary(OperandType::TENSOR_FLOAT32, {}, 0, 0,
                                     node.builder().operandName(y) + " (float)");
}

Status quantizeResult(Node& node, uint32_t from, uint32_t y) {
  return from == y ? okStatus() : node.quantize(from, y);
}

// Differences of quantised values have no quantisation of their own.
Status convertSquaredDifference(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes inputs,
                           floatPair(node, tfl::ActivationFunctionType::NONE));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t result, resultInFloat(node, inputs, y));
  const uint32_t none = inputs[2];
  HALYARD_ASSIGN_OR_RETURN(const uint32_t difference, node.temporaryLike(inputs[0], "difference"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(SUB, std::move(inputs), {difference}));
  HALYARD_RETURN_IF_ERROR(
      node.builder().addOperation(MUL, {difference, difference, none}, {result}));
  return quantizeResult(node, result, y);
}

Status convertDiv(Node& node) {
  const auto* options = node.options<tfl::DivOptions>();
  HALYARD_ASSIGN_OR_RETURN(
      OperandIndexes inputs,
      floatPair(node, options == nullptr ? tfl::ActivationFunctionType::NONE
                                         : options->fused_activation_function()));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  if (node.operand(inputs[0]).type == OperandType::TENSOR_INT32) {
    // NNAPI rounds quotients down, TFLite towards zero.
    if (options != nullptr &&
        options->fused_activation_function() != tfl::ActivationFunctionType::NONE) {
      return unsupported("a fused activation of integers");
    }
    return node.builder().addOperation(TRUNCATED_DIV, {inputs[0], inputs[1]}, {y});
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t result, resultInFloat(node, inputs, y));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(DIV, std::move(inputs), {result}));
  return quantizeResult(node, result, y);
}

Status convertFloorDiv(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes inputs,
                           floatPair(node, tfl::ActivationFunctionType::NONE));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  if (node.operand(inputs[0]).type == OperandType::TENSOR_INT32) {
    return node.builder().addOperation(DIV, std::move(inputs), {y});
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t quotient, node.temporaryLike(inputs[0], "quotient"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(DIV, std::move(inputs), {quotient}));
  return node.builder().addOperation(FLOOR, {quotient}, {y});
}

// Returns a tensor of one element: the number as a float, an integer or a truth value.
Result<uint32_t> numberTensor(Node& node, OperandType type, int32_t number) {
  switch (type) {
    case OperandType::TENSOR_FLOAT32:
      return node.builder().float32Tensor(static_cast<float>(number));
    case OperandType::TENSOR_INT32:
      return node.builder().int32Tensor({1}, {&number, 1});
    default:
      return unsupported("of {}", operandTypeName(type));
  }
}

// Appends y = condition ? x : other, where all inputs are broadcast.
Status selectFrom(Node& node, uint32_t condition, uint32_t x, uint32_t other, uint32_t y) {
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, other));
  return node.builder().addOperation(SELECT_V2, {condition, x, other}, {y});
}

// NNAPI's SELECT neither broadcasts nor takes booleans.
Status convertSelectV2(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t condition, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t other, node.input(2));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  const Shape& dims = node.operand(condition).dimensions;
  const bool isPlain = node.operand(x).dimensions == dims &&
                       node.operand(other).dimensions == dims &&
                       node.operand(x).type != OperandType::TENSOR_BOOL8;
  if (isPlain) return node.builder().addOperation(SELECT, {condition, x, other}, {y});
  return selectFrom(node, condition, x, other, y);
}

// A condition of one dimension selects slices along the first dimension.
Status convertSelect(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t condition, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(1));
  const Shape& dims = node.operand(x).dimensions;
  const Shape& own = node.operand(condition).dimensions;
  if (own.size() != 1 || dims.size() < 2 || own[0] != dims[0]) return convertSelectV2(node);
  Shape spread(dims.size(), 1);
  spread[0] = own[0];
  HALYARD_ASSIGN_OR_RETURN(const uint32_t column, node.reshapedTo(condition, std::move(spread)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t other, node.input(2));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return selectFrom(node, column, x, other, y);
}

Status convertSign(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(const UnaryOperands operands, unaryOperands(node));
  GraphBuilder& builder = node.builder();
  const OperandType type = node.operand(operands.x).type;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t zero, numberTensor(node, type, 0));
  uint32_t rest = zero;
  // First the negative elements are -1 and all others 0. Then the positive ones become 1.
  for (const bool isPositive : {false, true}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t number, numberTensor(node, type, isPositive ? 1 : -1));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t is,
                             builder.addTemporary(OperandType::TENSOR_BOOL8, {}, 0, 0, "sign"));
    HALYARD_RETURN_IF_ERROR(
        builder.addOperation(isPositive ? GREATER : LESS, {operands.x, zero}, {is}));
    uint32_t to = operands.y;
    if (!isPositive) {
      HALYARD_ASSIGN_OR_RETURN(to, node.temporaryLike(operands.x, "negative"));
    }
    HALYARD_RETURN_IF_ERROR(builder.addOperation(SELECT_V2, {is, number, rest}, {to}));
    rest = to;
  }
  return okStatus();
}

// Quantises to `num_bits` and back. The range is moved so that 0 is a step.
Status convertFakeQuant(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(const UnaryOperands operands, unaryOperands(node));
  const auto& options = *node.options<tfl::FakeQuantOptions>();
  if (options.num_bits() < 2 || options.num_bits() > 8 || options.narrow_range()) {
    return unsupported("{} bits{}, expected 2 to 8", options.num_bits(),
                       options.narrow_range() ? " with a narrow range" : "");
  }
  const auto steps = static_cast<float>((1 << options.num_bits()) - 1);
  const float scale = (options.max() - options.min()) / steps;
  const float zeroPoint = std::round(std::clamp(-options.min() / scale, 0.0f, steps));
  if (!(scale > 0) || !std::isfinite(scale) || !std::isfinite(zeroPoint)) {
    return badData("the range is {} to {}", options.min(), options.max());
  }
  GraphBuilder& builder = node.builder();
  uint32_t x = operands.x;
  for (const bool isLeast : {true, false}) {
    const float limit = ((isLeast ? 0 : steps) - zeroPoint) * scale;
    HALYARD_ASSIGN_OR_RETURN(const uint32_t number, builder.float32Tensor(limit));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t kept, node.temporaryLike(x, "kept to the range"));
    HALYARD_RETURN_IF_ERROR(builder.addOperation(isLeast ? MAXIMUM : MINIMUM, {x, number}, {kept}));
    x = kept;
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t bytes,
                           builder.addTemporary(OperandType::TENSOR_QUANT8_ASYMM, {}, scale,
                                                static_cast<int32_t>(zeroPoint), "quantised"));
  HALYARD_RETURN_IF_ERROR(node.quantize(x, bytes));
  return builder.addOperation(DEQUANTIZE, {bytes}, {operands.y});
}

// NNAPI casts no INT8. Without a scale, dequantising keeps the number.
Status castFromInt8(Node& node, uint32_t x, uint32_t y) {
  if (node.operand(x).scale != 1 || node.operand(x).zeroPoint != 0) {
    return unsupported("of INT8 with scale {}", node.operand(x).scale);
  }
  if (node.operand(y).type == OperandType::TENSOR_FLOAT32) {
    return node.builder().addOperation(DEQUANTIZE, {x}, {y});
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t real, node.dequantized(x));
  return node.builder().addOperation(CAST, {real}, {y});
}

// TFLite keeps the low 8 bits of an integer. NNAPI's cast of another number than 0 to 255 gives the
// nearer one of these. Without the extension, it is the only way.
Status castToByte(Node& node, uint32_t x, uint32_t y) {
  if (node.builder().options().extension != ExtensionUse::NONE) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t steps,
                             numberTensor(node, OperandType::TENSOR_INT32, 256));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t low, node.temporaryLike(x, "low 8 bits"));
    HALYARD_RETURN_IF_ERROR(node.builder().addOperation(FLOOR_MOD, {x, steps}, {low}));
    x = low;
  }
  return node.builder().addOperation(CAST, {x}, {y});
}

// NNAPI has no casts of booleans. 64-bit integers have 32 bits here.
Status convertCast(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor of, node.inputInfo(0));
  constexpr auto kComplex = tfl::TensorType::COMPLEX64;
  if (of.type == kComplex || to.type == kComplex) return castComplex(node);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  const OperandType from = node.operand(x).type;
  const bool isInt = from == OperandType::TENSOR_INT32;
  const bool toWide = to.type == tfl::TensorType::INT64;
  if (isInt && (toWide || to.type == tfl::TensorType::INT32)) return node.forward(0, x);
  if (toWide && isFloat(from)) {
    return unsupported("of floats to INT64 ({}): NNAPI's integers have 32 bits", to.text());
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  const OperandType type = node.operand(y).type;
  if (from == OperandType::TENSOR_BOOL8 && type != from) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t one, numberTensor(node, type, 1));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t zero, numberTensor(node, type, 0));
    return node.builder().addOperation(SELECT_V2, {x, one, zero}, {y});
  }
  if (type == OperandType::TENSOR_BOOL8 && type != from) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t zero, numberTensor(node, from, 0));
    return node.builder().addOperation(NOT_EQUAL, {x, zero}, {y});
  }
  if (from == OperandType::TENSOR_QUANT8_ASYMM_SIGNED && type != from) {
    return castFromInt8(node, x, y);
  }
  if (isInt && type == OperandType::TENSOR_QUANT8_ASYMM) return castToByte(node, x, y);
  return node.builder().addOperation(CAST, {x}, {y});
}

// Only a change to the same type keeps the meaning of the bits.
Status convertBitcast(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor from, node.inputInfo(0));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  if (from.type != to.type) {
    return unsupported("of {} to {}: NNAPI has no operation on the bits of a number",
                       tensorTypeName(from.type), tensorTypeName(to.type));
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  return node.forward(0, x);
}

Status convertFill(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t list, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor value, node.inputInfo(1));
  if (!value.isConstant())
    return unsupported("the value ({}) is computed at run time", value.text());
  const size_t size = tensorElementSize(value.type);
  if (value.data.size() != size) return badData("{} is no single value", value.text());
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, node.builder().contents(value));
  Result<uint32_t> scalar = unsupported("of {}", tensorTypeName(value.type));
  if (value.type == tfl::TensorType::INT64) {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> number,
                             node.constantInts(1, "the value", 1));
    scalar = node.builder().int32Scalar(number[0]);
  } else if (value.type == tfl::TensorType::FLOAT32) {
    float number = 0;
    std::memcpy(&number, bytes.data(), size);
    scalar = node.builder().floatScalar(OperandType::TENSOR_FLOAT32, number);
  } else if (value.type == tfl::TensorType::INT32) {
    int32_t number = 0;
    std::memcpy(&number, bytes.data(), size);
    scalar = node.builder().int32Scalar(number);
  }
  if (!scalar.ok()) return scalar.takeStatus();
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(FILL, {list, *scalar}, {y});
}

// Returns x repeated along the dimensions before the matrix, where `other` is larger.
Result<uint32_t> repeatedLike(Node& node, uint32_t x, const Shape& other) {
  Shape dims = node.operand(x).dimensions;
  if (!knownElementCount(dims) || !knownElementCount(other) || dims == other) return x;
  if (dims.size() < other.size()) {
    dims.insert(dims.begin(), other.size() - dims.size(), 1);
    HALYARD_ASSIGN_OR_RETURN(x, node.reshapedTo(x, dims));
  }
  std::vector<int32_t> multiples(dims.size(), 1);
  bool isRepeated = false;
  for (size_t d = 0; d + 2 < dims.size() && dims.size() == other.size(); ++d) {
    if (dims[d] != 1 || other[d] == 1) continue;
    multiples[d] = static_cast<int32_t>(other[d]);
    isRepeated = true;
  }
  if (!isRepeated) return x;
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t list,
      node.builder().int32Tensor({static_cast<uint32_t>(multiples.size())}, multiples));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t repeated, node.temporaryLike(x, "repeated"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(TILE, {x, list}, {repeated}));
  return repeated;
}

// NNAPI's operation does not broadcast.
Status convertBatchMatMul(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  const auto* options = node.options<tfl::BatchMatMulOptions>();
  HALYARD_ASSIGN_OR_RETURN(uint32_t a, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(uint32_t b, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(a, repeatedLike(node, a, Shape(node.operand(b).dimensions)));
  HALYARD_ASSIGN_OR_RETURN(b, repeatedLike(node, b, Shape(node.operand(a).dimensions)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t adjointA,
                           node.builder().boolScalar(options != nullptr && options->adj_x()));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t adjointB,
                           node.builder().boolScalar(options != nullptr && options->adj_y()));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(BATCH_MATMUL, {a, b, adjointA, adjointB}, {y});
}

using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;

constexpr Takes kAnyInts = kTakesInt64 | kTakesOpenRank;

constexpr Converter kMathConverters[] = {
    {Op::ABS, Opt::AbsOptions, kMayLack, convertUnary<ABS>, kTakesOpenRank | kTakesInt16},
    {Op::EXP, Opt::ExpOptions, kMayLack, convertUnary<EXP>, kTakesOpenRank},
    {Op::FLOOR, Opt::NONE, kMayLack, convertUnary<FLOOR>, kTakesOpenRank},
    {Op::LOG, Opt::NONE, kMayLack, convertUnary<LOG>, kTakesOpenRank},
    {Op::NEG, Opt::NegOptions, kMayLack, convertUnary<NEG>, kTakesOpenRank | kTakesInt16},
    {Op::RSQRT, Opt::NONE, kMayLack, convertUnary<RSQRT>, kTakesOpenRank},
    {Op::SIN, Opt::NONE, kMayLack, convertUnary<SIN>, kTakesOpenRank},
    {Op::SQRT, Opt::NONE, kMayLack, convertUnary<SQRT>, kTakesOpenRank},
    {Op::CEIL, Opt::NONE, kMayLack, convertCeil, kTakesOpenRank},
    {Op::SQUARE, Opt::SquareOptions, kMayLack, convertSquare, kTakesOpenRank},
    {Op::TANH, Opt::NONE, kMayLack, convertTanh, kTakesOpenRank | kTakesInt16},
    {Op::ELU, Opt::NONE, kMayLack, convertElu, kTakesOpenRank},
    {Op::HARD_SWISH, Opt::HardSwishOptions, kMayLack, convertPlain<HARD_SWISH, 1>, kTakesOpenRank},
    {Op::LEAKY_RELU, Opt::LeakyReluOptions, OptionsNeed::REQUIRED, convertLeakyRelu,
     kTakesOpenRank | kTakesInt16},
    {Op::PRELU, Opt::NONE, kMayLack, convertPlain<PRELU, 2>, kTakesOpenRank | kTakesInt16},
    {Op::DIV, Opt::DivOptions, kMayLack, convertDiv, kTakesOpenRank},
    {Op::FLOOR_DIV, Opt::FloorDivOptions, kMayLack, convertFloorDiv, kTakesOpenRank},
    {Op::SQUARED_DIFFERENCE, Opt::SquaredDifferenceOptions, kMayLack, convertSquaredDifference,
     kTakesOpenRank | kTakesInt16},
    {Op::POW, Opt::PowOptions, kMayLack, convertPlain<POW, 2>, kTakesOpenRank},
    {Op::MAXIMUM, Opt::MaximumMinimumOptions, kMayLack, convertPlain<MAXIMUM, 2>,
     kAnyInts | kTakesInt16},
    {Op::MINIMUM, Opt::MaximumMinimumOptions, kMayLack, convertPlain<MINIMUM, 2>,
     kAnyInts | kTakesInt16},
    {Op::STABLEHLO_AND, Opt::NONE, kMayLack, convertPlain<LOGICAL_AND, 2>, kTakesOpenRank},
    {Op::STABLEHLO_MAXIMUM, Opt::NONE, kMayLack, convertPlain<MAXIMUM, 2>, kAnyInts},
    {Op::STABLEHLO_MINIMUM, Opt::NONE, kMayLack, convertPlain<MINIMUM, 2>, kAnyInts},
    {Op::BITCAST, Opt::BitcastOptions, kMayLack, convertBitcast, kAnyInts},
    {Op::EQUAL, Opt::EqualOptions, kMayLack, convertPlain<EQUAL, 2>, kAnyInts},
    {Op::NOT_EQUAL, Opt::NotEqualOptions, kMayLack, convertPlain<NOT_EQUAL, 2>, kAnyInts},
    {Op::GREATER, Opt::GreaterOptions, kMayLack, convertPlain<GREATER, 2>, kAnyInts},
    {Op::GREATER_EQUAL, Opt::GreaterEqualOptions, kMayLack, convertPlain<GREATER_EQUAL, 2>,
     kAnyInts},
    {Op::LESS, Opt::LessOptions, kMayLack, convertPlain<LESS, 2>, kAnyInts},
    {Op::LESS_EQUAL, Opt::LessEqualOptions, kMayLack, convertPlain<LESS_EQUAL, 2>, kAnyInts},
    {Op::LOGICAL_AND, Opt::LogicalAndOptions, kMayLack, convertPlain<LOGICAL_AND, 2>,
     kTakesOpenRank},
    {Op::LOGICAL_OR, Opt::LogicalOrOptions, kMayLack, convertPlain<LOGICAL_OR, 2>, kTakesOpenRank},
    {Op::LOGICAL_NOT, Opt::LogicalNotOptions, kMayLack, convertPlain<LOGICAL_NOT, 1>,
     kTakesOpenRank},
    {Op::SELECT, Opt::SelectOptions, kMayLack, convertSelect,
     kTakesInt64 | kTakesUnscaled | kTakesInt16},
    {Op::SELECT_V2, Opt::SelectV2Options, kMayLack, convertSelectV2,
     kTakesInt64 | kTakesUnscaled | kTakesInt16},
    {Op::COS, Opt::CosOptions, kMayLack, convertUnary<COS>, kTakesOpenRank},
    {Op::ROUND, Opt::NONE, kMayLack, convertUnary<ROUND>, kTakesOpenRank},
    {Op::SIGN, Opt::SignOptions, kMayLack, convertSign, kTakesOpenRank},
    {Op::FAKE_QUANT, Opt::FakeQuantOptions, OptionsNeed::REQUIRED, convertFakeQuant,
     kTakesOpenRank},
    {Op::ATAN2, Opt::ATan2Options, kMayLack, convertPlain<ATAN2, 2>, kTakesOpenRank},
    {Op::FLOOR_MOD, Opt::FloorModOptions, kMayLack, convertPlain<FLOOR_MOD, 2>, kAnyInts},
    {Op::BITWISE_XOR, Opt::BitwiseXorOptions, kMayLack, convertPlain<BITWISE_XOR, 2>,
     kTakesOpenRank},
    {Op::RIGHT_SHIFT, Opt::RightShiftOptions, kMayLack, convertPlain<RIGHT_SHIFT, 2>,
     kTakesOpenRank},
    {Op::CAST, Opt::CastOptions, kMayLack, convertCast, kAnyInts | kTakesUnscaled | kTakesComplex},
    {Op::FILL, Opt::FillOptions, kMayLack, convertFill, kAnyInts},
    {Op::BATCH_MATMUL, Opt::BatchMatMulOptions, kMayLack, convertBatchMatMul,
     kTakesOpenRank | kTakesInt16},
};

}  // namespace

std::span<const Converter> mathConverters() { return kMathConverters; }

}  // namespace halyard::import

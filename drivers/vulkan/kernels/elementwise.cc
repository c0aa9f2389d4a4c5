// Functions of one and of two elements.
#include <algorithm>
#include <limits>
#include <optional>

#include "kernels/broadcast_steps.h"
#include "kernels/byte_table.h"
#include "kernels/kernel_list.h"
#include "ops/activation.h"
#include "ops/fixed_point_sum.h"
#include "ops/requantize.h"

namespace halyard::vulkandriver {
namespace {

// As in shaders/binary.comp and shaders/unary.comp.
constexpr int32_t kSum = 0;
constexpr int32_t kDifference = 1;
constexpr int32_t kQuotient = 3;
constexpr int32_t kTable = 100;
constexpr int32_t kFixedSum = 103;
constexpr int32_t kCast = 101;
constexpr int32_t kQuantize = 102;

int32_t binaryFunction(OperationType type) {
  switch (type) {
    case OperationType::ADD:
      return kSum;
    case OperationType::SUB:
      return kDifference;
    case OperationType::MUL:
      return 2;
    case OperationType::DIV:
      return kQuotient;
    case OperationType::MAXIMUM:
      return 4;
    case OperationType::MINIMUM:
      return 5;
    case OperationType::PRELU:
      return 6;
    case OperationType::POW:
      return 7;
    case OperationType::ATAN2:
      return 8;
    case OperationType::FLOOR_MOD:
      return 9;
    case OperationType::EQUAL:
      return 10;
    case OperationType::NOT_EQUAL:
      return 11;
    case OperationType::LESS:
      return 12;
    case OperationType::LESS_EQUAL:
      return 13;
    case OperationType::GREATER:
      return 14;
    case OperationType::GREATER_EQUAL:
      return 15;
    case OperationType::LOGICAL_AND:
      return 20;
    case OperationType::TRUNCATED_DIV:
      return 30;
    case OperationType::BITWISE_XOR:
      return 31;
    case OperationType::RIGHT_SHIFT:
      return 32;
    case OperationType::LEFT_SHIFT:
      return 33;
    default:
      return 21;  // LOGICAL_OR
  }
}

int32_t unaryFunction(OperationType type) {
  constexpr OperationType kInOrder[] = {
      OperationType::ABS,         OperationType::EXP,   OperationType::FLOOR,
      OperationType::LOG,         OperationType::NEG,   OperationType::RSQRT,
      OperationType::SIN,         OperationType::SQRT,  OperationType::RELU,
      OperationType::RELU1,       OperationType::RELU6, OperationType::TANH,
      OperationType::LOGISTIC,    OperationType::ELU,   OperationType::HARD_SWISH,
      OperationType::LOGICAL_NOT, OperationType::COS,   OperationType::ROUND,
      OperationType::GELU};
  int32_t i = 0;
  for (const OperationType entry : kInOrder) {
    if (entry == type) return i;
    ++i;
  }
  return type == OperationType::QUANTIZE ? kQuantize : kCast;
}

bool hasActivation(OperationType type) {
  return type == OperationType::ADD || type == OperationType::SUB || type == OperationType::MUL ||
         type == OperationType::DIV;
}

bool isByte(ElementKind kind) { return kind == ElementKind::UINT8 || kind == ElementKind::INT8; }

// The bits of a shader's OPTION for several results at once.
constexpr int32_t kFours = 4;
constexpr int32_t kRepeats = 8;
constexpr int32_t kScalar = 16;
constexpr int32_t kSixteens = 128;

// How neighbours of the result find their elements of `input`; nullopt: they are none.
std::optional<int32_t> repetition(const Shape& input, const Shape& result, size_t neighbours) {
  size_t count = 1;
  for (const uint32_t extent : input) count *= extent;
  if (count == 1) return kScalar;
  // The last dimensions of both are equal, those before them are 1.
  size_t same = 0;
  while (same < input.size() &&
         input[input.size() - 1 - same] == result[result.size() - 1 - same]) {
    ++same;
  }
  size_t period = 1;
  for (size_t i = 0; i < same; ++i) period *= input[input.size() - 1 - i];
  if (period != count) return std::nullopt;
  size_t results = 1;
  for (const uint32_t extent : result) results *= extent;
  if (count == results) return 0;
  return count % neighbours == 0 ? std::optional(kRepeats) : std::nullopt;
}

// The function of two elements, with its parameters.
struct BinaryFunction {
  Variant variant;
  Parameter table = 0;
  std::vector<Parameter> sum = {};
};

// The sum or difference of bytes. Empty: another function, or its numbers do not fit 32 bits.
std::vector<Parameter> fixedSum(const Site& site, int32_t function, ops::FuseCode activation) {
  const ops::Tensor& a = site.input(0);
  const ops::Tensor& b = site.input(1);
  const ops::Tensor& result = site.output(0);
  if (function != kSum && function != kDifference) return {};
  const float ratioA = a.scale / result.scale;
  const float ratioB = b.scale / result.scale;
  if (!ops::FixedPointSum::covers(std::max(ratioA, ratioB))) return {};
  const ops::FixedPointSum sum(ratioA, ratioB, function == kSum ? 1 : -1);
  const auto range = ops::activationRange(activation, result);
  const int32_t first = sum.half() - sum.factorOfA() * a.zeroPoint - sum.factorOfB() * b.zeroPoint;
  return {sum.factorOfA(),  sum.factorOfB(), first,     sum.shift(),
          result.zeroPoint, range.min,       range.max, 0};
}

constexpr size_t kSumParameters = 16;  // the index of the first

void appendSum(const BinaryFunction& function, std::vector<Parameter>& parameters) {
  parameters.resize(kSumParameters, 0);
  parameters.insert(parameters.end(), function.sum.begin(), function.sum.end());
}

// Adds a dispatch that computes 4 or 16 neighbours at once, if the shapes allow it.
bool addNeighbours(const Site& site, const BinaryFunction& function, size_t neighbours,
                   Recording& recording) {
  const size_t count = site.output(0).elementCount();
  if (count % neighbours != 0 || count / neighbours >= kMostItems) return false;
  const auto a = repetition(site.input(0).dims, site.output(0).dims, neighbours);
  const auto b = repetition(site.input(1).dims, site.output(0).dims, neighbours);
  if (!a || !b) return false;
  Variant variant = function.variant;
  variant[3] |= kFours | *a | *b << 2 | (neighbours == 16 ? kSixteens : 0);
  const auto period = [&](size_t i) {
    return static_cast<int32_t>(site.input(i).elementCount() / neighbours);
  };
  std::vector<Parameter> parameters = {site.in(0),     site.in(1), site.out(0),
                                       function.table, period(0),  period(1)};
  appendSum(function, parameters);
  recording.add(
      {Shader::BINARY, variant, std::move(parameters), static_cast<uint32_t>(count / neighbours)});
  return true;
}

}  // namespace

Status recordBinary(const Site& site, Recording& recording) {
  constexpr size_t kAxes = 4;
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  HALYARD_ASSIGN_OR_RETURN(const ElementKind resultKind, elementKind(site.output(0).type));
  const Shape& dims = site.output(0).dims;
  if (dims.size() > kAxes) return badData("rank {}, at most {}", dims.size(), kAxes);
  BinaryFunction function = {
      {binaryFunction(site.type), static_cast<int32_t>(kind), static_cast<int32_t>(resultKind), 0}};
  if (function.variant[0] == kQuotient && kind == ElementKind::INT32) {
    return badData("quotients of integers");
  }
  ops::FuseCode activation = ops::FuseCode::NONE;
  if (hasActivation(site.type)) {
    HALYARD_RETURN_IF_ERROR(ops::readFuseCode(site.context, 2, &activation));
  }
  function.variant[3] = static_cast<int32_t>(activation);
  if (isByte(kind)) {
    function.sum = fixedSum(site, function.variant[0], activation);
    function.variant[0] = function.sum.empty() ? kTable : kFixedSum;
  }
  if (function.variant[0] == kTable) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<uint8_t> entries, byteTable(site, 2));
    function.table = recording.constant(std::move(entries));
  }
  if (isByte(kind) && addNeighbours(site, function, 16, recording)) return okStatus();
  const bool hasFours = isByte(kind) || (isReal(kind) && isReal(resultKind));
  if (hasFours && addNeighbours(site, function, 4, recording)) return okStatus();
  std::vector<Parameter> parameters = {site.in(0), site.in(1), site.out(0)};
  for (size_t axis = 0; axis < kAxes; ++axis) {
    parameters.emplace_back(axis < dims.size() ? static_cast<int32_t>(dims[dims.size() - 1 - axis])
                                               : 1);
    parameters.emplace_back(stepOf(site.input(0).dims, axis));
    parameters.emplace_back(stepOf(site.input(1).dims, axis));
  }
  parameters.push_back(function.table);
  appendSum(function, parameters);
  recording.add({Shader::BINARY, function.variant, std::move(parameters),
                 static_cast<uint32_t>(site.output(0).elementCount())});
  return okStatus();
}

Status recordUnary(const Site& site, Recording& recording) {
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  HALYARD_ASSIGN_OR_RETURN(const ElementKind resultKind, elementKind(site.output(0).type));
  int32_t function = unaryFunction(site.type);
  std::vector<Parameter> parameters = {site.in(0), site.out(0)};
  if (isByte(kind) && site.input(0).type != OperandType::TENSOR_BOOL8) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<uint8_t> table, byteTable(site, 1));
    parameters.emplace_back(recording.constant(std::move(table)));
    function = kTable;
  } else if (function == kQuantize) {
    const auto range = ops::quantizedRange(site.output(0).type);
    parameters.insert(parameters.end(), {Parameter::real(site.output(0).scale),
                                         site.output(0).zeroPoint, range.min, range.max});
  } else if (function == kCast) {
    const bool isByteResult = resultKind == ElementKind::UINT8;
    parameters.insert(parameters.end(),
                      {0, 0, isByteResult ? 0 : std::numeric_limits<int32_t>::min(),
                       isByteResult ? 255 : std::numeric_limits<int32_t>::max()});
    if (kind == ElementKind::BOOL8 || resultKind == ElementKind::INT8) {
      if (site.type == OperationType::CAST)
        return badData("CAST of {}", operandTypeName(site.input(0).type));
    }
  } else if (site.type == OperationType::ELU) {
    float alpha = 0;
    HALYARD_RETURN_IF_ERROR(site.context.read(1, &alpha));
    parameters.emplace_back(Parameter::real(alpha));
  } else if (site.type == OperationType::GELU) {
    bool isApproximate = false;
    HALYARD_RETURN_IF_ERROR(site.context.read(1, &isApproximate));
    if (isApproximate) ++function;
  }
  const size_t count = site.output(0).elementCount();
  const bool toReals = isReal(resultKind);
  const bool toBytes = elementSize(site.output(0).type) == 1;
  const bool isTaken = function == kTable      ? toReals || toBytes
                       : function == kQuantize ? toBytes
                                               : isReal(kind) && toReals;
  const bool isFours = isTaken && count % 4 == 0;
  recording.add(
      {Shader::UNARY,
       {function, static_cast<int32_t>(kind), static_cast<int32_t>(resultKind), isFours ? 1 : 0},
       std::move(parameters),
       static_cast<uint32_t>(isFours ? count / 4 : count)});
  return okStatus();
}

}  // namespace halyard::vulkandriver

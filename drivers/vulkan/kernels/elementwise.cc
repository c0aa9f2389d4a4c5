// Functions of one and of two elements.
#include <limits>
#include <optional>

#include "kernels/broadcast_steps.h"
#include "kernels/byte_table.h"
#include "kernels/kernel_list.h"
#include "ops/activation.h"
#include "ops/requantize.h"

namespace halyard::vulkandriver {
namespace {

// As in shaders/binary.comp and shaders/unary.comp.
constexpr int32_t kTable = 100;
constexpr int32_t kCast = 101;
constexpr int32_t kQuantize = 102;

int32_t binaryFunction(OperationType type) {
  switch (type) {
    case OperationType::ADD:
      return 0;
    case OperationType::SUB:
      return 1;
    case OperationType::MUL:
      return 2;
    case OperationType::DIV:
      return 3;
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

// The bits of a shader's OPTION for four results at once.
constexpr int32_t kFours = 4;
constexpr int32_t kRepeats = 8;
constexpr int32_t kScalar = 16;

// How four neighbours of the result find their elements of `input`; nullopt: they are none.
std::optional<int32_t> repetition(const Shape& input, const Shape& result) {
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
  return count % 4 == 0 ? std::optional(kRepeats) : std::nullopt;
}

// Adds a dispatch that computes four results at once, if the shapes allow it.
bool addBinaryFours(const Site& site, Variant variant, std::optional<Place> table,
                    Recording& recording) {
  const size_t count = site.output(0).elementCount();
  if (count % 4 != 0 || count / 4 >= kMostItems) return false;
  const auto a = repetition(site.input(0).dims, site.output(0).dims);
  const auto b = repetition(site.input(1).dims, site.output(0).dims);
  if (!a || !b) return false;
  variant[3] |= kFours | *a | *b << 2;
  const auto period = [&](size_t i) {
    return static_cast<int32_t>(site.input(i).elementCount() / 4);
  };
  recording.add({Shader::BINARY,
                 variant,
                 {site.in(0), site.in(1), site.out(0), table ? Parameter(*table) : Parameter(0),
                  period(0), period(1), 0, 0},
                 static_cast<uint32_t>(count / 4)});
  return true;
}

}  // namespace

Status recordBinary(const Site& site, Recording& recording) {
  constexpr size_t kAxes = 4;
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  HALYARD_ASSIGN_OR_RETURN(const ElementKind resultKind, elementKind(site.output(0).type));
  const Shape& dims = site.output(0).dims;
  if (dims.size() > kAxes) return badData("rank {}, at most {}", dims.size(), kAxes);
  int32_t function = binaryFunction(site.type);
  if (function == 3 && kind == ElementKind::INT32) return badData("quotients of integers");
  ops::FuseCode activation = ops::FuseCode::NONE;
  if (hasActivation(site.type)) {
    HALYARD_RETURN_IF_ERROR(ops::readFuseCode(site.context, 2, &activation));
  }
  std::optional<Place> table;
  if (isByte(kind)) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<uint8_t> entries, byteTable(site, 2));
    table = recording.constant(std::move(entries));
    function = kTable;
  }
  const Variant variant = {function, static_cast<int32_t>(kind), static_cast<int32_t>(resultKind),
                           static_cast<int32_t>(activation)};
  const bool hasFours = function == kTable || (isReal(kind) && isReal(resultKind));
  if (hasFours && addBinaryFours(site, variant, table, recording)) return okStatus();
  std::vector<Parameter> parameters = {site.in(0), site.in(1), site.out(0)};
  for (size_t axis = 0; axis < kAxes; ++axis) {
    parameters.emplace_back(axis < dims.size() ? static_cast<int32_t>(dims[dims.size() - 1 - axis])
                                               : 1);
    parameters.emplace_back(stepOf(site.input(0).dims, axis));
    parameters.emplace_back(stepOf(site.input(1).dims, axis));
  }
  if (table) parameters.emplace_back(*table);
  recording.add({Shader::BINARY, variant, std::move(parameters),
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

// Code shared by all converters: operands and constants, quantisation rules, common operations.
#include "import/tflite/node.h"

#include "import/tflite/converters.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace halyard::import {
namespace {

constexpr float kScaleNoise = 1e-5f;

bool nearlyEqual(float a, float b) {
  return std::fabs(a - b) <= kScaleNoise * std::max(std::fabs(a), std::fabs(b));
}

std::string quantizationText(const Operand& operand) {
  return fmt::format("scale {} zero point {}", operand.scale, operand.zeroPoint);
}

bool is16Bits(const Operand& operand) { return operand.type == OperandType::TENSOR_QUANT16_SYMM; }

}  // namespace

Status Node::expectCounts(size_t minInputs, size_t maxInputs, size_t outputs) const {
  if (inputCount() < minInputs || inputCount() > maxInputs) {
    return badData("has {} inputs, expected {}", inputCount(),
                   minInputs == maxInputs ? std::to_string(minInputs)
                                          : fmt::format("{} to {}", minInputs, maxInputs));
  }
  if (outputCount() != outputs) {
    return badData("has {} outputs, expected {}", outputCount(), outputs);
  }
  return okStatus();
}

Status Node::expectOptions2(tfl::BuiltinOptions2 expected) const {
  if (op_.options2Type == expected && op_.options2) return okStatus();
  return badData("has options of kind {} ({}), expected {}", static_cast<int>(op_.options2Type),
                 tfl::EnumNameBuiltinOptions2(op_.options2Type),
                 tfl::EnumNameBuiltinOptions2(expected));
}

// Copies the vtable and the table next to each other, as the generated reader needs them. Offsets
// in the copy are invalid.
Status Node::loadOptions() {
  const FlatTable& table = op_.options;
  constexpr tfl::BuiltinOptions kWithLists[] = {
      tfl::BuiltinOptions::ReshapeOptions, tfl::BuiltinOptions::SqueezeOptions,
      tfl::BuiltinOptions::BucketizeOptions, tfl::BuiltinOptions::VarHandleOptions};
  if (!table || std::ranges::find(kWithLists, op_.optionsType) != std::end(kWithLists)) {
    return okStatus();
  }
  const size_t begin = (table.vtableSize + 7u) / 8 * 8 + table.offset % 8;
  const size_t end = begin + table.size;
  if (end > sizeof(copy_)) {
    return badData("has options of {} bytes", table.vtableSize + table.size);
  }
  std::memcpy(copy_, table.vtable, table.vtableSize);
  std::memcpy(copy_ + begin, table.data, table.size);
  const auto toVtable = static_cast<flatbuffers::soffset_t>(begin);
  std::memcpy(copy_ + begin, &toVtable, sizeof(toVtable));
  flatbuffers::Verifier verifier(copy_, end);
  if (!tfl::VerifyBuiltinOptions(verifier, copy_ + begin, op_.optionsType)) {
    return badData("has damaged options");
  }
  options_ = copy_ + begin;
  return okStatus();
}

bool Node::hasInput(size_t i) const { return i < inputCount() && inputTensor(i) != -1; }

Result<FileTensor> Node::inputInfo(size_t i) const {
  if (!hasInput(i)) return badData("input {} is left out", i);
  HALYARD_ASSIGN_OR_RETURN(FileTensor tensor, builder_.file().tensor(inputTensor(i)), "input {}",
                           i);
  return tensor;
}

Result<FileTensor> Node::outputInfo(size_t i) const {
  HALYARD_ASSIGN_OR_RETURN(FileTensor tensor, builder_.file().tensor(outputTensor(i)), "output {}",
                           i);
  return tensor;
}

Result<uint32_t> Node::input(size_t i) {
  if (!hasInput(i)) return badData("input {} is left out", i);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t operand, builder_.read(inputTensor(i)), "input {}", i);
  HALYARD_RETURN_IF_ERROR(checkTaken(inputTensor(i), operand), "input {}", i);
  return asInput(inputTensor(i), operand);
}

Result<uint32_t> Node::input(size_t i, const FileTensor& tensor) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t operand, builder_.read(tensor), "input {}", i);
  HALYARD_RETURN_IF_ERROR(checkTaken(tensor.index, operand), "input {}", i);
  return asInput(tensor.index, operand);
}

Result<uint32_t> Node::asInput(int32_t tensor, uint32_t operand) {
  if (!is16Bits(this->operand(operand))) return operand;
  has16Bits_ = true;
  if (const auto floats = builder_.floatsOf(tensor)) return *floats;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t real, dequantized(operand));
  builder_.keepFloatsOf(tensor, real);
  return real;
}

std::string Node::textOf(int32_t tensor) const {
  const Result<FileTensor> info = builder_.file().tensor(tensor);
  return info.ok() ? info->text() : fmt::format("tensor {}", tensor);
}

Status Node::checkForm(int32_t tensor, uint32_t index) const {
  if (is16Bits(operand(index)) && (takes_ & kTakesInt16) == 0) {
    return unsupported("{} is INT16, which the conversion of this operator does not take",
                       textOf(tensor));
  }
  const ElementForm form = builder_.formOf(tensor);
  if (form == ElementForm::INT64 && (takes_ & kTakesInt64) == 0) {
    return unsupported("{} is INT64: NNAPI's integers have 32 bits, results may need more",
                       textOf(tensor));
  }
  if (form == ElementForm::COMPLEX64 && (takes_ & kTakesComplex) == 0) {
    return unsupported("{} is COMPLEX64, expected real numbers", textOf(tensor));
  }
  return okStatus();
}

Status Node::checkScaled(int32_t tensor, uint32_t index) const {
  const Operand& found = operand(index);
  const bool mayLack = isQuant8Asymm(found.type) && found.scale == 1 && found.zeroPoint == 0;
  if (!mayLack || (takes_ & kTakesUnscaled) != 0) return okStatus();
  HALYARD_ASSIGN_OR_RETURN(const FileTensor info, builder_.file().tensor(tensor));
  if (!info.scales.empty()) return okStatus();
  return unsupported("{} is {} without a scale", info.text(), tensorTypeName(info.type));
}

Status Node::checkTaken(int32_t tensor, uint32_t index) const {
  HALYARD_RETURN_IF_ERROR(checkForm(tensor, index));
  HALYARD_RETURN_IF_ERROR(checkScaled(tensor, index));
  const Shape& dims = operand(index).dimensions;
  const bool hasRank = !dims.empty() || isScalarType(operand(index).type);
  const bool isOpen = !hasRank || std::ranges::find(dims, 0u) != dims.end();
  const Takes needed = !isOpen ? kTakesPlain : hasRank ? kTakesOpenDimensions : kTakesOpenRank;
  if ((takes_ & needed) == needed) return okStatus();
  return unsupported("{} has the shape {}, which only an execution knows", textOf(tensor),
                     shapeText(dims));
}

Result<uint32_t> Node::floatInput(size_t i) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, inputInfo(i));
  return floatInput(i, tensor);
}

Result<uint32_t> Node::floatInput(size_t i, const FileTensor& tensor) {
  const bool isSmall = tensor.type == tfl::TensorType::INT8 ||
                       tensor.type == tfl::TensorType::UINT8 ||
                       tensor.type == tfl::TensorType::INT4;
  if (!tensor.isConstant() || !isSmall) return input(i, tensor);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t folded, foldedToFloat(builder_, tensor), "input {}", i);
  return folded;
}

Result<uint32_t> Node::optionalFloatInput(size_t i, OperandType type) {
  return hasInput(i) ? floatInput(i) : builder_.omitted(type);
}

Result<uint32_t> Node::output(size_t i) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t operand, builder_.write(outputTensor(i)), "output {}", i);
  HALYARD_RETURN_IF_ERROR(checkForm(outputTensor(i), operand), "output {}", i);
  HALYARD_RETURN_IF_ERROR(checkScaled(outputTensor(i), operand), "output {}", i);
  if (!is16Bits(this->operand(operand))) return operand;
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t real,
      builder_.addTemporary(OperandType::TENSOR_FLOAT32, this->operand(operand).dimensions, 0, 0,
                            builder_.operandName(operand) + " (float)"));
  outputs16_.push_back({real, operand});
  return real;
}

Status Node::finish() {
  for (const auto& [real, operand] : outputs16_) {
    HALYARD_RETURN_IF_ERROR(quantize(real, operand));
  }
  return okStatus();
}

Status Node::forward(size_t i, uint32_t operand) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, outputInfo(i));
  if (tensor.isConstant()) return badData("{} is written, but is a constant", tensor.text());
  if (tensor.type == tfl::TensorType::INT16) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t to, builder_.write(tensor.index), "output {}", i);
    HALYARD_RETURN_IF_ERROR(checkForm(tensor.index, to));
    return quantize(operand, to);
  }
  HALYARD_RETURN_IF_ERROR(builder_.bind(tensor, operand), "output {}", i);
  return checkForm(tensor.index, operand);
}

Result<uint32_t> Node::constantFloat(size_t i, std::string_view what) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, inputInfo(i));
  if (!tensor.isConstant() || tensor.type != tfl::TensorType::FLOAT32) {
    return unsupported("{} ({}) is no constant of FLOAT32", what, tensor.text());
  }
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, builder_.contents(tensor));
  float value = 0;
  if (bytes.size() != sizeof(value)) {
    return badData("{} ({}) is {}, expected one value", what, tensor.text(),
                   shapeText(tensor.dims));
  }
  std::memcpy(&value, bytes.data(), sizeof(value));
  return builder_.floatScalar(OperandType::TENSOR_FLOAT32, value);
}

bool Node::isKnown(size_t i) const {
  if (!hasInput(i)) return false;
  const Result<FileTensor> tensor = inputInfo(i);
  if (!tensor.ok() || tensor->isConstant()) return tensor.ok();
  const std::optional<uint32_t> bound = builder_.known(inputTensor(i));
  if (!bound) return false;
  const std::span<const int32_t> values = builder_.knownInts(*bound);
  return !values.empty() && std::ranges::find(values, GraphBuilder::kOpenInt) == values.end();
}

Result<std::vector<int32_t>> Node::constantInts(size_t i, std::string_view what,
                                                size_t limit) const {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, inputInfo(i));
  if (!tensor.isConstant() && isKnown(i)) {
    const std::span<const int32_t> known = builder_.knownInts(*builder_.known(tensor.index));
    if (known.size() > limit) {
      return badData("{} has {} values, at most {} make sense", what, known.size(), limit);
    }
    return std::vector<int32_t>(known.begin(), known.end());
  }
  if (!tensor.isConstant()) {
    return unsupported("{} ({}) is computed at run time, only constants are supported", what,
                       tensor.text());
  }
  const size_t size = tensorElementSize(tensor.type);
  if (tensor.type != tfl::TensorType::INT32 && tensor.type != tfl::TensorType::INT64) {
    return badData("{} ({}) is {}, expected INT32 or INT64", what, tensor.text(),
                   tensorTypeName(tensor.type));
  }
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> data, builder_.contents(tensor));
  const size_t count = data.size() / size;
  if (count > limit) return badData("{} has {} values, at most {} make sense", what, count, limit);
  std::vector<int32_t> values;
  for (size_t k = 0; k < count; ++k) {
    int64_t value = 0;
    if (size == sizeof(int64_t)) {
      std::memcpy(&value, data.data() + k * size, size);
    } else {
      int32_t narrow = 0;
      std::memcpy(&narrow, data.data() + k * size, size);
      value = narrow;
    }
    if (value < INT32_MIN || value > INT32_MAX) {
      return unsupported("{} has the value {}, which needs more than 32 bits", what, value);
    }
    values.push_back(static_cast<int32_t>(value));
  }
  return values;
}

bool haveSameQuantization(const Operand& a, const Operand& b) {
  return a.zeroPoint == b.zeroPoint && nearlyEqual(a.scale, b.scale);
}

bool Node::sameQuantization(uint32_t a, uint32_t b) const {
  return haveSameQuantization(operand(a), operand(b));
}

Status Node::shareQuantization(uint32_t output, uint32_t input) {
  if (!sameQuantization(output, input)) {
    return unsupported("the output has {}, the input {}: they must be equal",
                       quantizationText(operand(output)), quantizationText(operand(input)));
  }
  builder_.operand(output).scale = operand(input).scale;
  return okStatus();
}

Status Node::fixQuantization(uint32_t output, float scale, int32_t zeroPoint) {
  Operand& declared = builder_.operand(output);
  if (declared.zeroPoint != zeroPoint || !nearlyEqual(declared.scale, scale)) {
    return unsupported("the output has {}, NNAPI has scale {} zero point {} only",
                       quantizationText(declared), scale, zeroPoint);
  }
  declared.scale = scale;
  return okStatus();
}

Result<int32_t> Node::fuseCode(tfl::ActivationFunctionType activation) {
  switch (activation) {
    case tfl::ActivationFunctionType::NONE:
      return 0;
    case tfl::ActivationFunctionType::RELU:
      return 1;
    case tfl::ActivationFunctionType::RELU_N1_TO_1:
      return 2;
    case tfl::ActivationFunctionType::RELU6:
      return 3;
    case tfl::ActivationFunctionType::TANH:
    case tfl::ActivationFunctionType::SIGN_BIT:
      return unsupported("fused activation {}", tfl::EnumNameActivationFunctionType(activation));
  }
  return badData("fused activation {} does not exist", static_cast<int>(activation));
}

Result<int32_t> Node::paddingCode(tfl::Padding padding) {
  switch (padding) {
    case tfl::Padding::SAME:
      return 1;
    case tfl::Padding::VALID:
      return 2;
  }
  return badData("padding {} does not exist", static_cast<int>(padding));
}

Result<size_t> Node::normalizedAxis(int32_t axis, size_t rank) {
  const auto signedRank = static_cast<int64_t>(rank);
  if (axis < -signedRank || axis >= signedRank) {
    return badData("axis {} is out of range of rank {}", axis, rank);
  }
  return static_cast<size_t>(axis < 0 ? axis + signedRank : axis);
}

Status Node::applyInFloat(OperationType type, uint32_t x, OperandIndexes rest, uint32_t y) {
  if (isQuant8Asymm(operand(x).type)) {
    HALYARD_ASSIGN_OR_RETURN(x, dequantized(x));
  }
  rest.insert(rest.begin(), x);
  if (!isQuant8Asymm(operand(y).type)) return builder_.addOperation(type, std::move(rest), {y});
  HALYARD_ASSIGN_OR_RETURN(const uint32_t real,
                           builder_.addTemporary(OperandType::TENSOR_FLOAT32, {}, 0, 0,
                                                 builder_.operandName(y) + " (float)"));
  HALYARD_RETURN_IF_ERROR(builder_.addOperation(type, std::move(rest), {real}));
  return quantize(real, y);
}

Status Node::multiply(uint32_t a, uint32_t b, uint32_t activation, uint32_t y) {
  const bool isFine =
      isQuant8Asymm(operand(y).type) && operand(y).scale <= operand(a).scale * operand(b).scale;
  return builder_.addOperation(isFine ? OperationType::QUANTIZED_MUL : OperationType::MUL,
                               {a, b, activation}, {y});
}

Result<uint32_t> Node::temporaryLike(uint32_t like, std::string_view what) {
  const Operand source = operand(like);
  return builder_.addTemporary(source.type, {}, source.scale, source.zeroPoint,
                               fmt::format("{} ({})", builder_.operandName(like), what));
}

Result<uint32_t> Node::dequantized(uint32_t from) {
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t real,
      builder_.addTemporary(OperandType::TENSOR_FLOAT32, operand(from).dimensions, 0, 0,
                            builder_.operandName(from) + " (float)"));
  HALYARD_RETURN_IF_ERROR(builder_.addOperation(
      is16Bits(operand(from)) ? OperationType::DEQUANTIZE_16 : OperationType::DEQUANTIZE, {from},
      {real}));
  return real;
}

Status Node::quantize(uint32_t from, uint32_t to) {
  return builder_.addOperation(
      is16Bits(operand(to)) ? OperationType::QUANTIZE_16 : OperationType::QUANTIZE, {from}, {to});
}

Status Node::reshape(uint32_t from, uint32_t to) {
  const Shape& dims = operand(to).dimensions;
  if (dims.empty() || std::ranges::count(dims, 0u) > 1) {
    return unsupported("the shape {}, which only an execution knows", shapeText(dims));
  }
  std::vector<int32_t> target(dims.begin(), dims.end());
  std::ranges::replace(target, 0, -1);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t shape,
                           builder_.int32Tensor({static_cast<uint32_t>(target.size())}, target));
  return builder_.addOperation(OperationType::RESHAPE, {from, shape}, {to});
}

Status Node::declareShape(uint32_t output, Shape dims) {
  Operand& declared = builder_.operand(output);
  const auto agree = [](uint32_t of, uint32_t made) { return of == 0 || made == 0 || of == made; };
  if (!declared.dimensions.empty() && !std::ranges::equal(declared.dimensions, dims, agree)) {
    return badData("the output is {} in the file, the operator makes it {}",
                   shapeText(declared.dimensions), shapeText(dims));
  }
  // A dimension is known if either side knows it.
  for (size_t i = 0; i < declared.dimensions.size(); ++i) {
    if (dims[i] == 0) dims[i] = declared.dimensions[i];
  }
  HALYARD_RETURN_IF_ERROR(checkSizeFits(declared.type, dims), "the output");
  declared.dimensions = std::move(dims);
  return okStatus();
}

Status Node::reshapeAs(uint32_t from, Shape dims, uint32_t to) {
  HALYARD_RETURN_IF_ERROR(declareShape(to, std::move(dims)));
  return reshape(from, to);
}

Result<uint32_t> Node::reshapedTo(uint32_t from, Shape dims) {
  const Operand source = operand(from);
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t to,
      builder_.addTemporary(source.type, std::move(dims), source.scale, source.zeroPoint,
                            builder_.operandName(from) + " (reshaped)"));
  HALYARD_RETURN_IF_ERROR(reshape(from, to));
  return to;
}

}  // namespace halyard::import

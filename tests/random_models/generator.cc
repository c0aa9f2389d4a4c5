#include "random_models/generator.h"

#include <algorithm>
#include <cstring>

namespace halyard::runtime::random_models {

using ops::testing::TestOperand;

Generator::Generator(uint32_t seed) : random_(seed * 2654435761U + 1) {
  Shape dims(1 + upTo(4));
  for (uint32_t& dimension : dims) dimension = 1 + upTo(dims.size() > 2 ? 4 : 6);
  const uint32_t inputs = 1 + upTo(3);
  for (uint32_t i = 0; i < inputs; ++i) newInput(OperandType::TENSOR_FLOAT32, dims, 0, 0);
  if (chance(3)) newInput(OperandType::TENSOR_QUANT8_ASYMM, dims, 0.0625F, 120);
  if (chance(4)) newInput(OperandType::TENSOR_INT32, dims, 0, 0);
  model_.model().relaxComputationFloat32toFloat16 = chance(6);
}

std::vector<uint8_t> Generator::randomBytes(OperandType type, const Shape& dims) {
  const uint32_t count = elements(dims);
  std::vector<uint8_t> bytes(size_t{count} * elementSize(type));
  const auto put = [&](size_t i, auto value) {
    std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
  };
  for (uint32_t i = 0; i < count; ++i) {
    if (type == OperandType::TENSOR_FLOAT32) {
      put(i, static_cast<float>(upTo(33)) / 8 - 2);
    } else if (type == OperandType::TENSOR_INT32) {
      put(i, static_cast<int32_t>(upTo(9)) - 4);
    } else if (type == OperandType::TENSOR_BOOL8) {
      bytes[i] = static_cast<uint8_t>(upTo(2));
    } else {
      bytes[i] = static_cast<uint8_t>(upTo(256));
    }
  }
  return bytes;
}

Value Generator::newInput(OperandType type, const Shape& dims, float scale, int32_t zeroPoint) {
  const uint32_t operand = model_.input(dims, type);
  model_.model().main.operands[operand].scale = scale;
  model_.model().main.operands[operand].zeroPoint = zeroPoint;
  inputs_.push_back({dims, randomBytes(type, dims)});
  values_.push_back({operand, type, dims, scale, zeroPoint});
  return values_.back();
}

std::optional<Value> Generator::pickIf(OperandType type, std::optional<size_t> rank) {
  std::vector<const Value*> fitting;
  for (const Value& value : values_) {
    // Most operations accept no more dimensions.
    const bool isUsual = !value.dims.empty() && value.dims.size() <= 4;
    const bool fits = isUsual && (!rank || value.dims.size() == *rank);
    if (value.type == type && fits) fitting.push_back(&value);
  }
  if (fitting.empty()) return std::nullopt;
  const auto count = static_cast<uint32_t>(fitting.size());
  const uint32_t back = chance(2) ? upTo(std::min(count, 3U)) : upTo(count);
  return *fitting[count - 1 - back];
}

Value Generator::sameAs(const Value& value) {
  std::vector<const Value*> fitting;
  for (const Value& other : values_) {
    if (other.type == value.type && other.dims == value.dims && other.scale == value.scale &&
        other.zeroPoint == value.zeroPoint) {
      fitting.push_back(&other);
    }
  }
  if (fitting.empty() || (inputs_.size() < 8 && chance(12))) {
    return newInput(value.type, value.dims, value.scale, value.zeroPoint);
  }
  return *oneOf(fitting);
}

void Generator::describe(uint32_t operand, const ops::Tensor& tensor) {
  Operand& described = model_.model().main.operands[operand];
  described.scale = tensor.scale;
  described.zeroPoint = tensor.zeroPoint;
  if (tensor.channelQuant != nullptr) {
    described.scale = 0;
    described.extraParams = *tensor.channelQuant;
  }
}

Value Generator::add(OperandType type, const Shape& dims, float scale, int32_t zeroPoint,
                     const ops::Tensor& like) {
  const uint32_t operand = model_.temporary(dims, type);
  describe(operand, like);
  model_.model().main.operands[operand].scale = scale;
  model_.model().main.operands[operand].zeroPoint = zeroPoint;
  return {operand, type, dims, scale, zeroPoint};
}

uint32_t Generator::floats(const Shape& dims) {
  std::vector<float> values(elements(dims));
  for (float& value : values) value = static_cast<float>(upTo(17)) / 16 - 0.5F;
  return model_.constant<float>(OperandType::TENSOR_FLOAT32, dims, values);
}

uint32_t Generator::constant(const TestOperand& from) {
  const uint32_t operand = model_.constant<uint8_t>(from.tensor.type, from.tensor.dims, from.bytes);
  describe(operand, from.tensor);
  return operand;
}

uint32_t Generator::omitted(const TestOperand& from) {
  const uint32_t operand = model_.omitted(from.tensor.type, from.tensor.dims);
  describe(operand, from.tensor);
  return operand;
}

uint32_t Generator::input(const TestOperand& from) {
  const uint32_t operand = model_.input(from.tensor.dims, from.tensor.type);
  describe(operand, from.tensor);
  inputs_.push_back({from.tensor.dims, from.bytes});
  return operand;
}

uint32_t Generator::condition() {
  const uint32_t operand = model_.input({1}, OperandType::TENSOR_BOOL8);
  inputs_.push_back({{1}, randomBytes(OperandType::TENSOR_BOOL8, {1})});
  fixed_.push_back(operand);
  return operand;
}

void Generator::operation(OperationType type, const std::vector<uint32_t>& inputs,
                          const std::vector<Value>& outputs) {
  std::vector<uint32_t> operands;
  for (const Value& output : outputs) {
    operands.push_back(output.operand);
    values_.push_back(output);
  }
  model_.operation(type, inputs, operands);
}

void Generator::chooseOutputs() {
  Subgraph& main = model_.model().main;
  const std::vector<uint32_t> consumers = countConsumers(main);
  const auto makeOutput = [&](uint32_t index) {
    main.operands[index].lifetime = Lifetime::SUBGRAPH_OUTPUT;
    main.outputIndexes.push_back(index);
  };
  uint32_t last = UINT32_MAX;
  for (uint32_t i = 0; i < main.operands.size(); ++i) {
    if (main.operands[i].lifetime != Lifetime::TEMPORARY_VARIABLE) continue;
    if (consumers[i] == 0 ? !chance(25) : chance(10)) makeOutput(i);
    last = i;
  }
  if (!main.outputIndexes.empty()) return;
  if (last == UINT32_MAX) {
    const Value x = values_.front();
    const Value out = like(x);
    operation(OperationType::ABS, {x.operand}, {out});
    last = out.operand;
  }
  makeOutput(last);
}

void Generator::openDimensions() {
  for (uint32_t i = 0; i < model_.model().main.operands.size(); ++i) {
    Operand& operand = model_.model().main.operands[i];
    const bool isValue = operand.lifetime == Lifetime::SUBGRAPH_INPUT ||
                         operand.lifetime == Lifetime::TEMPORARY_VARIABLE ||
                         operand.lifetime == Lifetime::SUBGRAPH_OUTPUT;
    const bool isFixed = std::find(fixed_.begin(), fixed_.end(), i) != fixed_.end();
    // Scales for each channel need a known number of channels.
    const bool hasChannels = std::holds_alternative<SymmPerChannelQuantParams>(operand.extraParams);
    if (!isValue || isFixed || hasChannels || operand.dimensions.empty() || chance(2)) continue;
    operand.dimensions[upTo(static_cast<uint32_t>(operand.dimensions.size()))] = 0;
  }
}

RandomModel Generator::finish() {
  chooseOutputs();
  RandomModel result;
  result.inputs = inputs_;
  for (const uint32_t output : model_.model().main.outputIndexes) {
    result.outputs.push_back({model_.model().main.operands[output].dimensions, {}});
  }
  result.isOpen = chance(4);
  if (result.isOpen) openDimensions();
  result.model = model_.model();
  return result;
}

}  // namespace halyard::runtime::random_models

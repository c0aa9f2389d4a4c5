#include "workloads/model_maker.h"

#include "base/float16.h"

namespace halyard::workloads {

uint32_t ModelMaker::add(const Kind& kind, const Shape& dims, Lifetime lifetime) {
  Operand operand;
  operand.type = kind.type;
  operand.dimensions = dims;
  operand.scale = kind.scale;
  operand.zeroPoint = kind.zeroPoint;
  operand.lifetime = lifetime;
  model_.main.operands.push_back(std::move(operand));
  return static_cast<uint32_t>(model_.main.operands.size() - 1);
}

uint32_t ModelMaker::input(const Kind& kind, const Shape& dims) {
  model_.main.inputIndexes.push_back(add(kind, dims, Lifetime::SUBGRAPH_INPUT));
  return model_.main.inputIndexes.back();
}

uint32_t ModelMaker::temporary(const Kind& kind, const Shape& dims) {
  return add(kind, dims, Lifetime::TEMPORARY_VARIABLE);
}

uint32_t ModelMaker::omitted(OperandType type) { return add({type}, {}, Lifetime::NO_VALUE); }

uint32_t ModelMaker::constant(const Kind& kind, const Shape& dims, const void* bytes,
                              size_t length) {
  const uint32_t index = add(kind, dims, Lifetime::CONSTANT_COPY);
  model_.main.operands[index].location = appendConstant(model_, bytes, length);
  return index;
}

uint32_t ModelMaker::int32(int32_t value) {
  return constant({OperandType::INT32}, {}, &value, sizeof value);
}

uint32_t ModelMaker::boolean(bool value) {
  const uint8_t byte = value ? 1 : 0;
  return constant({OperandType::BOOL}, {}, &byte, sizeof byte);
}

uint32_t ModelMaker::real(OperandType type, float value) {
  if (type != OperandType::TENSOR_FLOAT16) {
    return constant({OperandType::FLOAT32}, {}, &value, sizeof value);
  }
  const Float16 half = toFloat16(value);
  return constant({OperandType::FLOAT16}, {}, &half, sizeof half);
}

uint32_t ModelMaker::randomConstant(const Kind& kind, const Shape& dims, float most) {
  const size_t count = *knownElementCount(dims);
  std::uniform_real_distribution<float> around(-most, most);
  if (kind.type == OperandType::TENSOR_FLOAT32) {
    std::vector<float> values(count);
    for (float& value : values) value = around(engine_);
    return constant(kind, dims, values);
  }
  if (kind.type == OperandType::TENSOR_FLOAT16) {
    std::vector<Float16> values(count);
    for (Float16& value : values) value = toFloat16(around(engine_));
    return constant(kind, dims, values);
  }
  std::vector<uint8_t> values(count);
  for (uint8_t& value : values) value = static_cast<uint8_t>(engine_());
  if (kind.type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) {
    // The type does not contain -128.
    for (uint8_t& value : values) value = value == 0x80 ? 0x81 : value;
  }
  return constant(kind, dims, values);
}

void ModelMaker::setScales(uint32_t constant, uint32_t channel, std::vector<float> scales) {
  model_.main.operands[constant].extraParams =
      SymmPerChannelQuantParams{std::move(scales), channel};
}

uint32_t ModelMaker::reference(const ModelMaker& other) {
  while (model_.operandValues.size() % 4 != 0) model_.operandValues.push_back(0);
  const auto shift = static_cast<uint32_t>(model_.operandValues.size());
  const Model& source = other.model_;
  model_.operandValues.insert(model_.operandValues.end(), source.operandValues.begin(),
                              source.operandValues.end());
  Subgraph subgraph = source.main;
  for (Operand& operand : subgraph.operands) {
    if (operand.lifetime == Lifetime::CONSTANT_COPY) operand.location.offset += shift;
  }
  model_.referenced.push_back(std::move(subgraph));
  const uint32_t index = add({OperandType::MODEL}, {}, Lifetime::SUBGRAPH);
  model_.main.operands[index].location.offset = static_cast<uint32_t>(model_.referenced.size() - 1);
  return index;
}

void ModelMaker::operation(OperationType type, std::vector<uint32_t> inputs,
                           std::vector<uint32_t> outputs) {
  model_.main.operations.push_back({type, std::move(inputs), std::move(outputs)});
}

uint32_t ModelMaker::result(OperationType type, std::vector<uint32_t> inputs, const Kind& kind,
                            const Shape& dims) {
  const uint32_t output = temporary(kind, dims);
  operation(type, std::move(inputs), {output});
  return output;
}

void ModelMaker::makeOutput(uint32_t operand) {
  model_.main.operands[operand].lifetime = Lifetime::SUBGRAPH_OUTPUT;
  model_.main.outputIndexes.push_back(operand);
}

}  // namespace halyard::workloads

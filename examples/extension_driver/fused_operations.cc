#include "fused_operations.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace example {

using namespace halyard;  // NOLINT(google-build-using-namespace): this file is about nothing else

namespace {

// A number of the extension in the model: prefix << 16 | code.
bool isCode(const Model& model, int32_t number, uint16_t code) {
  const std::optional<uint16_t> prefix = prefixOf(model);
  return prefix && static_cast<uint32_t>(number) == ((uint32_t{*prefix} << 16) | code);
}
bool isType(const Model& model, const Operand& operand, uint16_t code) {
  return isCode(model, static_cast<int32_t>(operand.type), code);
}

Status checkTensor(const Operand& operand, const char* what) {
  if (operand.dimensions.size() != 2 || !knownElementCount(operand.dimensions)) {
    return badData("{} is {}, expected two dimensions, both known", what, operandText(operand));
  }
  return okStatus();
}

// The values and the blocks that an operation has on its two sides fit together.
Status checkSides(const Operand& values, const Operand& blocks) {
  HALYARD_RETURN_IF_ERROR(checkTensor(values, "the tensor of values"));
  HALYARD_RETURN_IF_ERROR(checkTensor(blocks, "the tensor of blocks"));
  if (values.type != OperandType::TENSOR_FLOAT32 || values.lifetime == Lifetime::NO_VALUE ||
      blocks.lifetime == Lifetime::NO_VALUE) {
    return badData("the tensor of values is {}, expected TENSOR_FLOAT32", operandText(values));
  }
  if (values.dimensions[0] != blocks.dimensions[0] ||
      values.dimensions[1] != uint64_t{blocks.dimensions[1]} * FUSED_BLOCK_VALUES) {
    return badData("values {} and blocks {} do not fit: a block has {} values",
                   shapeText(values.dimensions), shapeText(blocks.dimensions), FUSED_BLOCK_VALUES);
  }
  return okStatus();
}

Result<int32_t> largestOf(const Operand& blocks) {
  const auto* const data = std::get_if<std::vector<uint8_t>>(&blocks.extraParams);
  if (data == nullptr) return 127;
  FusedBlockFormat format;
  if (data->size() != sizeof format) {
    return badData("{} bytes of extension data, expected a FusedBlockFormat of {}", data->size(),
                   sizeof format);
  }
  std::memcpy(&format, data->data(), sizeof format);
  if (format.bits < 2 || format.bits > 8) return badData("{} bits, expected 2 to 8", format.bits);
  return (1 << (format.bits - 1)) - 1;
}

}  // namespace

std::optional<uint16_t> prefixOf(const Model& model) {
  for (const ExtensionNameAndPrefix& entry : model.extensionNameToPrefix) {
    if (entry.name == FUSED_EXTENSION_NAME) return entry.prefix;
  }
  return std::nullopt;
}

Result<Step> makeStep(const Model& model, size_t index) {
  const Operation& operation = model.main.operations[index];
  const std::vector<Operand>& operands = model.main.operands;
  Step step;
  const auto type = static_cast<int32_t>(operation.type);
  step.isSoftmax = isCode(model, type, FUSED_SCALED_SOFTMAX);
  if (!step.isSoftmax && !isCode(model, type, FUSED_QUANTIZE_BLOCKS)) {
    return badData("the device has nothing but the operations of {}", FUSED_EXTENSION_NAME);
  }
  const size_t inputs = step.isSoftmax ? 2 : 1;
  if (operation.inputs.size() != inputs || operation.outputs.size() != 1) {
    return badData("{} inputs and {} outputs, expected {} and 1", operation.inputs.size(),
                   operation.outputs.size(), inputs);
  }
  step.input = operation.inputs[0];
  step.output = operation.outputs[0];
  const Operand& values = operands[step.isSoftmax ? step.output : step.input];
  const Operand& blocks = operands[step.isSoftmax ? step.input : step.output];
  if (!isType(model, blocks, FUSED_TENSOR_QUANT_BLOCK)) {
    return badData("operand {} is {}, expected a tensor of blocks",
                   step.isSoftmax ? step.input : step.output, operandText(blocks));
  }
  HALYARD_RETURN_IF_ERROR(checkSides(values, blocks));
  step.rows = blocks.dimensions[0];
  step.blocks = blocks.dimensions[1];
  HALYARD_ASSIGN_OR_RETURN(step.largest, largestOf(blocks));
  if (isConstant(operands[step.input])) return badData("its input is a constant");
  if (!step.isSoftmax) return step;
  const Operand& params = operands[operation.inputs[1]];
  if (!isType(model, params, FUSED_SOFTMAX_PARAMS)) {
    return badData("input 1 is {}, expected parameters", operandText(params));
  }
  HALYARD_ASSIGN_OR_RETURN(step.params, constantScalar<FusedSoftmaxParams>(model, params),
                           "input 1");
  if (step.params.columns == 0) step.params.columns = step.blocks * FUSED_BLOCK_VALUES;
  step.params.columns = std::min(step.params.columns, step.blocks * FUSED_BLOCK_VALUES);
  return step;
}

size_t byteSize(const Model& model, uint32_t operand) {
  const Operand& which = model.main.operands[operand];
  const size_t element =
      isType(model, which, FUSED_TENSOR_QUANT_BLOCK) ? sizeof(FusedBlock) : sizeof(float);
  return element * knownElementCount(which.dimensions).value_or(0);
}

void quantizeBlocks(const Step& step, const float* in, FusedBlock* out) {
  for (size_t block = 0; block < size_t{step.rows} * step.blocks; ++block) {
    const float* const from = in + block * FUSED_BLOCK_VALUES;
    float largest = 0;
    for (size_t i = 0; i < FUSED_BLOCK_VALUES; ++i) largest = std::max(largest, std::fabs(from[i]));
    FusedBlock made;
    made.scale = largest / static_cast<float>(step.largest);
    for (size_t i = 0; i < FUSED_BLOCK_VALUES; ++i) {
      made.values[i] =
          largest == 0 ? int8_t{0} : static_cast<int8_t>(std::lround(from[i] / made.scale));
    }
    std::memcpy(out + block, &made, sizeof made);
  }
}

void scaledSoftmax(const Step& step, float temperature, const FusedBlock* in, float* out) {
  const size_t width = size_t{step.blocks} * FUSED_BLOCK_VALUES;
  for (size_t row = 0; row < step.rows; ++row, in += step.blocks, out += width) {
    for (size_t i = 0; i < width; ++i) {
      FusedBlock block;  // a copy: other processes may write to the input meanwhile
      std::memcpy(&block, in + i / FUSED_BLOCK_VALUES, sizeof block);
      float value = block.scale * static_cast<float>(block.values[i % FUSED_BLOCK_VALUES]);
      if (step.limit) value = std::clamp(value, -*step.limit, *step.limit);
      out[i] = step.params.beta * value / temperature;
    }
    const size_t columns = step.params.columns;
    const float largest = *std::max_element(out, out + columns);
    float sum = 0;
    for (size_t i = 0; i < columns; ++i) sum += out[i] = std::exp(out[i] - largest);
    for (size_t i = 0; i < width; ++i) out[i] = i < columns ? out[i] / sum : 0;
  }
}

}  // namespace example

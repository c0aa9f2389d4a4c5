// QUANTIZED_16BIT_LSTM: one step of a fixed-point cell with 8-bit values and a 16-bit state.
#include <cmath>
#include <cstdint>
#include <string>

#include "ops/fixed_point.h"
#include "ops/lstm_operands.h"
#include "ops/multiply_accumulate.h"
#include "ops/operand_table.h"
#include "ops/operation.h"
#include "ops/quantized_16bit_lstm_cell.h"
#include "ops/quantized_gates.h"
#include "ops/work.h"

namespace halyard::ops {
namespace {

using enum OperandType;
using namespace quantized_16bit_lstm;  // NOLINT(google-build-using-namespace)

constexpr float kValueScale = 1.0f / 128;
constexpr float kStateScale = 1.0f / 2048;
constexpr size_t kGrainCells = 512;

// Sizes by letter: B batch, I input, P outputs, which equal the cells.
const OperandTable& table() {
  return madeOnce([] {
    return OperandTable{
        fixedRow("input", "BI", TENSOR_QUANT8_ASYMM),
        fixedRow("input_to_input_weights", "PI", TENSOR_QUANT8_ASYMM),
        fixedRow("input_to_forget_weights", "PI", TENSOR_QUANT8_ASYMM),
        fixedRow("input_to_cell_weights", "PI", TENSOR_QUANT8_ASYMM),
        fixedRow("input_to_output_weights", "PI", TENSOR_QUANT8_ASYMM),
        fixedRow("recurrent_to_input_weights", "PP", TENSOR_QUANT8_ASYMM),
        fixedRow("recurrent_to_forget_weights", "PP", TENSOR_QUANT8_ASYMM),
        fixedRow("recurrent_to_cell_weights", "PP", TENSOR_QUANT8_ASYMM),
        fixedRow("recurrent_to_output_weights", "PP", TENSOR_QUANT8_ASYMM),
        fixedRow("input_gate_bias", "P", TENSOR_INT32),
        fixedRow("forget_gate_bias", "P", TENSOR_INT32),
        fixedRow("cell_bias", "P", TENSOR_INT32),
        fixedRow("output_gate_bias", "P", TENSOR_INT32),
        fixedRow("cell_state_in", "BP", TENSOR_QUANT16_SYMM),
        fixedRow("output_state_in", "BP", TENSOR_QUANT8_ASYMM),
    };
  });
}
const OperandTable& outputs() {
  return madeOnce([] {
    return OperandTable{fixedRow("cell_state_out", "BP", TENSOR_QUANT16_SYMM),
                        fixedRow("output", "BP", TENSOR_QUANT8_ASYMM)};
  });
}

Status checkQuantization(const Tensor& tensor, float scale, int32_t zeroPoint) {
  // Computed scales may be wrong in the last place.
  const bool isScale = std::abs(tensor.scale - scale) <= 1e-6f * scale;
  if (isScale && tensor.zeroPoint == zeroPoint) return okStatus();
  return opFailed("has scale {} and zero point {}, expected {} and {}", tensor.scale,
                  tensor.zeroPoint, scale, zeroPoint);
}

Status checkQuantizations(OperationContext& context) {
  const Tensor& weights = context.input(kInputWeights);
  if (!(weights.scale > 0) || !std::isfinite(weights.scale)) {
    return opFailed("{}: has scale {}, expected a finite number above 0",
                    inputText(table(), kInputWeights), weights.scale);
  }
  for (size_t i = 0; i < table().size(); ++i) {
    float scale = kValueScale;
    int32_t zeroPoint = kValueZeroPoint;
    if (i >= kInputWeights && i < kBias) {
      scale = weights.scale;
      zeroPoint = weights.zeroPoint;
    } else if (i >= kBias && i < kCellState) {
      scale = weights.scale * kValueScale;
      zeroPoint = 0;
    } else if (i == kCellState) {
      scale = kStateScale;
      zeroPoint = 0;
    }
    HALYARD_RETURN_IF_ERROR(checkQuantization(context.input(i), scale, zeroPoint), "{}",
                            inputText(table(), i));
  }
  HALYARD_RETURN_IF_ERROR(checkQuantization(context.output(0), kStateScale, 0),
                          "output 0 (cell_state_out)");
  HALYARD_RETURN_IF_ERROR(checkQuantization(context.output(1), kValueScale, kValueZeroPoint),
                          "output 1 (output)");
  return okStatus();
}

Status infer(OperationContext& context) {
  DimensionSolver sizes;
  HALYARD_RETURN_IF_ERROR(sizes.match(context, table()));
  HALYARD_RETURN_IF_ERROR(checkQuantizations(context));
  return sizes.setOutputs(context, outputs());
}

// Computes the four gates of all cells for each row of the batch, without biases.
void multiplyAllGates(OperationContext& context, int32_t* sums) {
  const size_t cells = context.output(0).dims[1];
  const size_t inputSize = context.input(kX).dims[1];
  IntegerProduct product;
  product.rows = context.output(0).dims[0];
  product.columns = kGates * cells;
  product.depth = inputSize + cells;
  // The definition puts the input values first, but a row of weights starts with the recurrent
  // ones. Each value meets the weight at the same position of the row, independent of its source.
  product.left = [&](size_t row, int16_t* to) {
    subtractZeroPoint(context.input(kX).as<uint8_t>() + row * inputSize, inputSize, kValueZeroPoint,
                      to);
    subtractZeroPoint(context.input(kHidden).as<uint8_t>() + row * cells, cells, kValueZeroPoint,
                      to + inputSize);
  };
  product.right = [&](size_t column, int16_t* to) {
    const size_t gate = column / cells;
    const size_t cell = column % cells;
    centerFilter(context.input(kRecurrentWeights + gate), cell * cells, cells, to);
    centerFilter(context.input(kInputWeights + gate), cell * inputSize, inputSize, to + cells);
  };
  multiplyIntegers(context.services(), product, sums);
}

Status compute(OperationContext& context) {
  const size_t batch = context.output(0).dims[0];
  const size_t cells = context.output(0).dims[1];
  auto* sums = context.scratch<int32_t>(batch * kGates * cells);
  multiplyAllGates(context, sums);

  const FixedMultiplier toGate = gateMultiplier(context.input(kBias).scale);
  const auto* before = context.input(kCellState).as<int16_t>();
  auto* cellState = context.output(0).as<int16_t>();
  auto* output = context.output(1).as<uint8_t>();
  context.services().parallelFor(batch * cells, kGrainCells, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t cell = i % cells;
      const auto preActivation = [&](size_t gate) {
        const int32_t bias = context.input(kBias + gate).as<int32_t>()[cell];
        return gateInput(bias, sums[(i / cells * kGates + gate) * cells + cell], toGate);
      };
      const int16_t inputGate = sigmoidFixed(preActivation(kInputGate), kIntegerBits);
      const int16_t forgetGate = sigmoidFixed(preActivation(kForgetGate), kIntegerBits);
      const int16_t candidate = tanhFixed(preActivation(kCellGate), kIntegerBits);
      const int16_t outputGate = sigmoidFixed(preActivation(kOutputGate), kIntegerBits);
      const int16_t state = nextState(inputGate, forgetGate, candidate, before[i]);
      cellState[i] = state;
      output[i] = hiddenValue(outputGate, tanhFixed(tangentInput(state), kIntegerBits));
    }
  });
  return okStatus();
}

double work(std::span<const Tensor> inputs, std::span<const Tensor> /*outputs*/) {
  return workOfRows(inputs, {{kInputWeights, kBias - 1}});
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::QUANTIZED_16BIT_LSTM;
  definition.signature.rows = {{FeatureLevel::FL3, {TENSOR_QUANT8_ASYMM}}};
  definition.signature.forms = {{"", specsOf(table()), {}}};
  definition.signature.outputs = specsOf(outputs());
  definition.infer = infer;
  definition.reference = compute;
  definition.work = work;
  return definition;
}

}  // namespace

const OperationDefinition& quantized16bitLstm() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops

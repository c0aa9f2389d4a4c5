// QUANTIZED_LSTM: one step of a fixed-point cell with all optional parts, signed 8-bit values and a
// 16-bit state.
#include "ops/quantized_lstm_cell.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/fixed_point.h"
#include "ops/lstm_operands.h"
#include "ops/multiply_accumulate.h"
#include "ops/operand_checks.h"
#include "ops/operand_table.h"
#include "ops/operation.h"
#include "ops/quantized_gates.h"
#include "ops/work.h"

namespace halyard::ops {
namespace {

using enum OperandType;

using namespace quantized_lstm;  // NOLINT(google-build-using-namespace)

enum Output : size_t { kHiddenOut, kCellStateOut, kOutput };

constexpr size_t kPeephole = kCell + kLstmPeephole;
constexpr size_t kBias = kCell + kLstmBias;
constexpr size_t kProjection = kCell + kLstmProjection;
constexpr size_t kProjectionBias = kCell + kLstmProjectionBias;
constexpr int kGateIntegerBits = 3;

// Sizes by letter: B batch, I input, C cells, P outputs.
const OperandTable& table() {
  return madeOnce([] {
    OperandTable result =
        OperandTable{tensorRow("input", "BI")} + lstmWeightRows() +
        OperandTable{tensorRow("output_state_in", "BP"), tensorRow("cell_state_in", "BC")} +
        lstmLayerNormRows();
    const auto setType = [&](size_t first, size_t count, OperandType type) {
      for (size_t i = first; i < first + count; ++i) {
        result[i].column = -1;
        result[i].type = type;
      }
    };
    setType(kX, 1, TENSOR_QUANT8_ASYMM_SIGNED);
    setType(kInputWeights, 2 * kGates, TENSOR_QUANT8_SYMM);
    setType(kPeephole, kGates - 1, TENSOR_QUANT16_SYMM);
    setType(kBias, kGates, TENSOR_INT32);
    setType(kProjection, 1, TENSOR_QUANT8_SYMM);
    setType(kProjectionBias, 1, TENSOR_INT32);
    setType(kHiddenState, 1, TENSOR_QUANT8_ASYMM_SIGNED);
    setType(kCellState, 1, TENSOR_QUANT16_SYMM);
    setType(kLayerNorm, kGates, TENSOR_QUANT16_SYMM);
    for (const char* name :
         {"cell_clip", "projection_clip", "input_intermediate_scale", "forget_intermediate_scale",
          "cell_intermediate_scale", "output_intermediate_scale"}) {
      result.push_back(fixedRow(name, "", FLOAT32));
    }
    result[kCellClip].mayLack = true;
    result[kProjectionClip].mayLack = true;
    result.push_back(fixedRow("hidden_state_zero_point", "", INT32));
    result.push_back(fixedRow("hidden_state_scale", "", FLOAT32));
    return result;
  });
}
const OperandTable& outputs() {
  return madeOnce([] {
    return OperandTable{fixedRow("output_state_out", "BP", TENSOR_QUANT8_ASYMM_SIGNED),
                        fixedRow("cell_state_out", "BC", TENSOR_QUANT16_SYMM),
                        fixedRow("output", "BP", TENSOR_QUANT8_ASYMM_SIGNED)};
  });
}

using GatePlan = QuantizedLstmGate;
using Plan = QuantizedLstmPlan;

// Returns a clip in units of `scale`, at most `largest`; nullopt if the clip is off.
std::optional<int64_t> clipUnits(float clip, float scale, float largest) {
  if (!(clip > 0)) return std::nullopt;
  return static_cast<int64_t>(std::min(clip / scale, largest));
}

// Effective scales are float32 by definition. A scale that fixed point cannot represent is an
// error. A scale that becomes zero makes the product 0. `input`: the input with this scale; without
// it, the hidden state.
Status toMultiplier(float scale, std::optional<size_t> input, FixedMultiplier* multiplier) {
  if (!(scale >= 0) || !std::isfinite(scale)) {
    return opFailed("the effective scale of {} is {}, expected a finite number",
                    input ? inputText(table(), *input) : "the hidden state", scale);
  }
  *multiplier = toFixedMultiplier(static_cast<double>(scale));
  return okStatus();
}

Status readPositive(const OperationContext& context, size_t i, float* value) {
  HALYARD_RETURN_IF_ERROR(context.read(i, value), "{}", inputText(table(), i));
  if (*value > 0 && std::isfinite(*value)) return okStatus();
  return opFailed("{}: is {}, expected a finite number above 0", inputText(table(), i), *value);
}

// Reads the exponent of the cell state's scale, which must be a power of two.
Status readStatePower(const OperationContext& context, int* power) {
  constexpr int kLowest = -15;
  constexpr int kHighest = -9;
  const float scale = context.input(kCellState).scale;
  const double log = scale > 0 && std::isfinite(scale) ? std::log2(static_cast<double>(scale)) : 0;
  *power = static_cast<int>(std::round(log));
  if (std::abs(log - *power) <= 1e-3 && *power >= kLowest && *power <= kHighest) return okStatus();
  return opFailed("{}: has scale {}, expected a power of two from 2^{} to 2^{}",
                  inputText(table(), kCellState), scale, kLowest, kHighest);
}

Status planGate(const OperationContext& context, size_t gate, int statePower, GatePlan* plan) {
  // Without its gate, a scale has no meaning; models use 0.
  plan->exists = context.hasInput(kInputWeights + gate);
  if (!plan->exists) return okStatus();
  float gateScale = 0;
  HALYARD_RETURN_IF_ERROR(readPositive(context, kGateScale + gate, &gateScale));
  const auto product = [&](size_t weights, float scale, FixedMultiplier* multiplier) {
    return toMultiplier(context.input(weights).scale * scale / gateScale, weights, multiplier);
  };
  HALYARD_RETURN_IF_ERROR(product(kInputWeights + gate, context.input(kX).scale, &plan->input));
  HALYARD_RETURN_IF_ERROR(
      product(kRecurrentWeights + gate, context.input(kHiddenState).scale, &plan->recurrent));
  plan->bias = context.input(kBias + gate).as<int32_t>();
  const size_t peephole = kPeephole + (gate == kOutputGate ? gate - 1 : gate);
  if (gate != kCellGate && context.hasInput(peephole)) {
    HALYARD_RETURN_IF_ERROR(product(peephole, std::ldexp(1.0f, statePower), &plan->peephole));
    plan->peepholeWeights = context.input(peephole).as<int16_t>();
  }
  if (context.hasInput(kLayerNorm + gate)) {
    const Tensor& weights = context.input(kLayerNorm + gate);
    HALYARD_RETURN_IF_ERROR(toMultiplier(weights.scale, kLayerNorm + gate, &plan->layerNorm));
    plan->layerNorm.exponent += 12;
    plan->layerNormWeights = weights.as<int16_t>();
  }
  return okStatus();
}

Status planOutput(const OperationContext& context, Plan* plan) {
  HALYARD_RETURN_IF_ERROR(context.read(kHiddenZeroPoint, &plan->hiddenZeroPoint));
  if (plan->hiddenZeroPoint < -128 || plan->hiddenZeroPoint > 127) {
    return opFailed("{}: is {}, expected -128 to 127", inputText(table(), kHiddenZeroPoint),
                    plan->hiddenZeroPoint);
  }
  float hiddenScale = 0;
  HALYARD_RETURN_IF_ERROR(readPositive(context, kHiddenScale, &hiddenScale));
  HALYARD_RETURN_IF_ERROR(toMultiplier(0x1p-30f / hiddenScale, std::nullopt, &plan->hidden));
  float clip = 0;
  HALYARD_RETURN_IF_ERROR(readClip(context, kCellClip, "cell_clip", &clip));
  plan->cellClip = clipUnits(clip, context.input(kCellState).scale, 32767);
  clip = 0;
  HALYARD_RETURN_IF_ERROR(readClip(context, kProjectionClip, "projection_clip", &clip));
  plan->hasProjection = context.hasInput(kProjection);
  if (!plan->hasProjection) return okStatus();
  const float weightScale = context.input(kProjection).scale;
  HALYARD_RETURN_IF_ERROR(
      toMultiplier(weightScale * hiddenScale / context.input(kHiddenState).scale, kProjection,
                   &plan->projection));
  // The definition uses units of the weights, not of the result.
  plan->projectionClip = clipUnits(clip, weightScale, 127);
  return okStatus();
}

// One gate of one row of the batch.
class GateRow {
 public:
  GateRow(const GatePlan& plan, size_t cells) : plan_(plan), cells_(cells) {}

  // Turns sums of products into pre-activations.
  void prepare(const int32_t* inputSums, const int32_t* recurrentSums, const int16_t* state,
               int16_t* values) const {
    for (size_t i = 0; i < cells_; ++i) {
      // With normalisation, the bias is added after it.
      const int32_t bias = plan_.layerNormWeights == nullptr ? plan_.bias[i] : 0;
      int64_t value = saturate16(multiplyByFixed(addWrapping(inputSums[i], bias), plan_.input));
      value = saturate16(value + multiplyByFixed(recurrentSums[i], plan_.recurrent));
      if (plan_.peepholeWeights != nullptr) {
        const int32_t product = plan_.peepholeWeights[i] * state[i];
        value = saturate16(value + multiplyByFixed(product, plan_.peephole));
      }
      values[i] = static_cast<int16_t>(value);
    }
    if (plan_.layerNormWeights != nullptr) normalize(values);
  }

 private:
  void normalize(int16_t* values) const {
    constexpr int64_t kOne20 = int64_t{1} << 20;
    int64_t sum = 0;
    int64_t squares = 0;
    for (size_t i = 0; i < cells_; ++i) {
      sum += values[i];
      squares += values[i] * values[i];
    }
    const auto count = static_cast<int64_t>(cells_);
    const int64_t mean = sum * 1024 / count;
    // The result is below 2^30, because the mean of the squares is.
    const int64_t variance = (squares * (kOne20 / count) - mean * mean) / kOne20;
    const FixedMultiplier inverse =
        inverseSqrt(static_cast<int32_t>(std::max<int64_t>(variance, 1)));
    for (size_t i = 0; i < cells_; ++i) {
      const auto distance = static_cast<int32_t>(1024 * values[i] - mean);
      const int64_t weighted =
          int64_t{multiplyByFixed(distance, inverse)} * plan_.layerNormWeights[i] + plan_.bias[i];
      const int32_t units = saturate32((weighted + (weighted > 0 ? 512 : -512)) / 1024);
      values[i] = saturate16(multiplyByFixed(units, plan_.layerNorm));
    }
  }

  const GatePlan& plan_;
  size_t cells_;
};

}  // namespace

Status planQuantizedLstm(const OperationContext& context, QuantizedLstmPlan* plan) {
  HALYARD_RETURN_IF_ERROR(readStatePower(context, &plan->statePower));
  for (size_t gate = 0; gate < kGates; ++gate) {
    HALYARD_RETURN_IF_ERROR(planGate(context, gate, plan->statePower, &plan->gates[gate]));
  }
  return planOutput(context, plan);
}

void updateQuantizedLstm(const QuantizedLstmPlan& plan, size_t cells, const int32_t* inputSums,
                         const int32_t* recurrentSums, const int16_t* before, int16_t* state,
                         int8_t* hidden) {
  // The squashed state follows the gates.
  std::vector<int16_t> values((kGates + 1) * cells);
  std::array<int16_t*, kGates> gates{};
  std::array<size_t, kGates> offsets{};
  size_t offset = 0;
  for (size_t gate = 0; gate < kGates; ++gate) {
    gates[gate] = values.data() + gate * cells;
    offsets[gate] = offset;
    if (plan.gates[gate].exists) offset += cells;
  }
  const auto prepare = [&](size_t gate, const int16_t* cellState) {
    GateRow(plan.gates[gate], cells)
        .prepare(inputSums + offsets[gate], recurrentSums + offsets[gate], cellState, gates[gate]);
  };
  const auto open = [&](size_t gate) {
    sigmoidsFixed(gates[gate], gates[gate], cells, kGateIntegerBits);
  };
  const bool hasInputGate = plan.gates[kInputGate].exists;
  if (hasInputGate) prepare(kInputGate, before);
  prepare(kForgetGate, before);
  prepare(kCellGate, before);
  if (hasInputGate) open(kInputGate);
  open(kForgetGate);
  tanhsFixed(gates[kCellGate], gates[kCellGate], cells, kGateIntegerBits);
  for (size_t i = 0; i < cells; ++i) {
    const int32_t forget = gates[kForgetGate][i];
    const int32_t input = hasInputGate ? gates[kInputGate][i] : 32767 - forget;
    int64_t sum = shiftRightRounding(int64_t{forget} * before[i], 15) +
                  shiftRightRounding(int64_t{input} * gates[kCellGate][i], 30 + plan.statePower);
    sum = saturate16(sum);
    if (plan.cellClip) sum = std::clamp(sum, -*plan.cellClip, *plan.cellClip);
    state[i] = static_cast<int16_t>(sum);
  }
  prepare(kOutputGate, state);
  open(kOutputGate);
  int16_t* const squashed = values.data() + kGates * cells;
  tanhsFixed(state, squashed, cells, plan.statePower + 15);
  for (size_t i = 0; i < cells; ++i) {
    const int32_t output = gates[kOutputGate][i];
    const int64_t units = multiplyByFixed(output * squashed[i], plan.hidden);
    hidden[i] = saturateTo<int8_t>(units - plan.hiddenZeroPoint);
  }
}

namespace {

Status checkSameParameters(const OperationContext& context, const Tensor& output, size_t position,
                           size_t input) {
  const Tensor& like = context.input(input);
  if (output.scale == like.scale && output.zeroPoint == like.zeroPoint) return okStatus();
  return opFailed("output {} ({}): has scale {} and zero point {}, expected {} and {}, as {}",
                  position, outputs()[position].name, output.scale, output.zeroPoint, like.scale,
                  like.zeroPoint, inputText(table(), input));
}

Status checkScales(OperationContext& context) {
  for (size_t i = 0; i < table().size(); ++i) {
    const Tensor& tensor = context.input(i);
    if (!context.hasInput(i) || table()[i].shape.empty() || tensor.type == TENSOR_INT32) continue;
    if (tensor.scale > 0 && std::isfinite(tensor.scale)) continue;
    return opFailed("{}: has scale {}, expected a finite number above 0", inputText(table(), i),
                    tensor.scale);
  }
  for (const auto& [output, input] : {std::pair<size_t, size_t>{kHiddenOut, kHiddenState},
                                      {kCellStateOut, kCellState},
                                      {kOutput, kHiddenState}}) {
    HALYARD_RETURN_IF_ERROR(checkSameParameters(context, context.output(output), output, input));
  }
  return okStatus();
}

Status infer(OperationContext& context) {
  Parts parts = 0;
  HALYARD_RETURN_IF_ERROR(checkPresence(context, table(), &parts));
  DimensionSolver sizes;
  solveLstmSizes(sizes, parts);
  HALYARD_RETURN_IF_ERROR(sizes.match(context, table()));
  HALYARD_RETURN_IF_ERROR(checkScales(context));
  Plan plan;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(planQuantizedLstm(context, &plan)));
  return sizes.setOutputs(context, outputs());
}

// Multiplies one set of weights with the values, for all existing gates: [batch][gates][cells].
int32_t* multiplyAllGates(OperationContext& context, size_t valuesAt, size_t weightsAt) {
  const Tensor& values = context.input(valuesAt);
  std::vector<size_t> matrices;
  for (size_t gate = 0; gate < kGates; ++gate) {
    if (context.hasInput(weightsAt + gate)) matrices.push_back(weightsAt + gate);
  }
  const Shape& dims = context.input(matrices[0]).dims;
  IntegerProduct product;
  product.rows = values.dims[0];
  product.columns = matrices.size() * dims[0];
  product.depth = dims[1];
  product.left = [&](size_t row, int16_t* to) {
    subtractZeroPoint(values.as<int8_t>() + row * dims[1], dims[1], values.zeroPoint, to);
  };
  product.right = [&](size_t column, int16_t* to) {
    centerFilter(context.input(matrices[column / dims[0]]), column % dims[0] * dims[1], dims[1],
                 to);
  };
  auto* sums = context.scratch<int32_t>(product.rows * product.columns);
  multiplyIntegers(context.services(), product, sums);
  return sums;
}

void project(OperationContext& context, const Plan& plan, const int8_t* hidden, int8_t* output) {
  const Tensor& weights = context.input(kProjection);
  const size_t cells = weights.dims[1];
  IntegerProduct product;
  product.rows = context.input(kX).dims[0];
  product.columns = weights.dims[0];
  product.depth = cells;
  product.left = [&](size_t row, int16_t* to) {
    subtractZeroPoint(hidden + row * cells, cells, -plan.hiddenZeroPoint, to);
  };
  product.right = [&](size_t column, int16_t* to) {
    centerFilter(weights, column * cells, cells, to);
  };
  auto* sums = context.scratch<int32_t>(product.rows * product.columns);
  multiplyIntegers(context.services(), product, sums);
  const int32_t* bias =
      context.hasInput(kProjectionBias) ? context.input(kProjectionBias).as<int32_t>() : nullptr;
  const int64_t zeroPoint = context.input(kHiddenState).zeroPoint;
  for (size_t i = 0; i < product.rows * product.columns; ++i) {
    const int32_t sum = bias == nullptr ? sums[i] : addWrapping(sums[i], bias[i % product.columns]);
    int64_t value = saturateTo<int8_t>(multiplyByFixed(sum, plan.projection) + zeroPoint);
    if (plan.projectionClip) value = std::clamp(value, -*plan.projectionClip, *plan.projectionClip);
    output[i] = static_cast<int8_t>(value);
  }
}

Status compute(OperationContext& context) {
  Plan plan;
  HALYARD_RETURN_IF_ERROR(planQuantizedLstm(context, &plan));
  const int32_t* inputSums = multiplyAllGates(context, kX, kInputWeights);
  const int32_t* recurrentSums = multiplyAllGates(context, kHiddenState, kRecurrentWeights);
  Tensor& stateOut = context.output(kCellStateOut);
  const size_t batch = stateOut.dims[0];
  const size_t cells = stateOut.dims[1];
  const size_t width = (plan.gates[kInputGate].exists ? kGates : kGates - 1) * cells;
  auto* output = context.output(kHiddenOut).as<int8_t>();
  int8_t* hidden = plan.hasProjection ? context.scratch<int8_t>(batch * cells) : output;
  constexpr size_t kGrainCells = 512;
  context.services().parallelFor(
      batch, std::max<size_t>(1, kGrainCells / cells), [&](size_t begin, size_t end) {
        for (size_t b = begin; b < end; ++b) {
          updateQuantizedLstm(plan, cells, inputSums + b * width, recurrentSums + b * width,
                              context.input(kCellState).as<int16_t>() + b * cells,
                              stateOut.as<int16_t>() + b * cells, hidden + b * cells);
        }
      });
  if (plan.hasProjection) project(context, plan, hidden, output);
  std::memcpy(context.output(kOutput).data, output, context.output(kOutput).elementCount());
  return okStatus();
}

double work(std::span<const Tensor> inputs, std::span<const Tensor> /*outputs*/) {
  return workOfRows(inputs, {{kCell, kProjection}});
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::QUANTIZED_LSTM;
  definition.signature.rows = {{FeatureLevel::FL4, {TENSOR_QUANT8_ASYMM_SIGNED}}};
  definition.signature.forms = {{"", specsOf(table()), {}}};
  definition.signature.outputs = specsOf(outputs());
  definition.infer = infer;
  definition.reference = compute;
  definition.work = work;
  return definition;
}

}  // namespace

const OperationDefinition& quantizedLstm() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops

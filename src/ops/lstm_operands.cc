// Rows of the operand tables of LSTM operations.
#include "ops/lstm_operands.h"

#include <string>

namespace halyard::ops {
namespace {

constexpr std::string_view kGateNames[kGates] = {"input", "forget", "cell", "output"};

std::string named(std::string_view prefix, std::string_view head, std::string_view gate,
                  std::string_view tail) {
  return fmt::format("{}{}{}{}", prefix, head, gate, tail);
}

}  // namespace

OperandTable lstmWeightRows(std::string_view prefix) {
  OperandTable rows;
  for (std::string_view gate : kGateNames) {
    rows.push_back(tensorRow(named(prefix, "input_to_", gate, "_weights"), "CI"));
  }
  for (std::string_view gate : kGateNames) {
    rows.push_back(tensorRow(named(prefix, "recurrent_to_", gate, "_weights"), "CP"));
  }
  for (size_t gate : {kInputGate, kForgetGate, kOutputGate}) {
    rows.push_back(tensorRow(named(prefix, "cell_to_", kGateNames[gate], "_weights"), "C"));
    rows.back().needs = kPeepholePart;
  }
  for (std::string_view gate : kGateNames) {
    rows.push_back(
        tensorRow(named(prefix, "", gate, gate == "cell" ? "_bias" : "_gate_bias"), "C"));
  }
  rows.push_back(tensorRow(named(prefix, "projection_weights", "", ""), "PC"));
  rows.push_back(tensorRow(named(prefix, "projection_bias", "", ""), "P"));

  rows[kLstmInputWeights + kInputGate].leads = kInputGatePart;
  rows[kLstmInputWeights + kInputGate].mayLack = true;
  rows[kLstmRecurrentWeights + kInputGate].needs = kInputGatePart;
  rows[kLstmBias + kInputGate].needs = kInputGatePart;
  rows[kLstmPeephole].needs = kPeepholePart | kInputGatePart;
  OperandRow& leader = rows[kLstmPeephole + 1];
  leader.needs = 0;
  leader.leads = kPeepholePart;
  leader.mayLack = true;
  rows[kLstmProjection].leads = kProjectionPart;
  rows[kLstmProjection].mayLack = true;
  rows[kLstmProjectionBias].needs = kProjectionPart;
  rows[kLstmProjectionBias].mayLack = true;
  return rows;
}

OperandTable lstmLayerNormRows(std::string_view prefix) {
  OperandTable rows;
  for (std::string_view gate : kGateNames) {
    rows.push_back(tensorRow(named(prefix, "", gate, "_layer_norm_weights"), "C"));
    rows.back().needs = kLayerNormPart;
  }
  rows[kInputGate].needs |= kInputGatePart;
  rows[kForgetGate].needs = 0;
  rows[kForgetGate].leads = kLayerNormPart;
  rows[kForgetGate].mayLack = true;
  return rows;
}

OperandTable lstmAuxRows(std::string_view prefix) {
  OperandTable rows;
  for (std::string_view gate : kGateNames) {
    rows.push_back(tensorRow(named(prefix, "aux_input_to_", gate, "_weights"), "CA"));
    rows.back().needs = kAuxWeights;
  }
  rows[kInputGate].needs |= kInputGatePart;
  return rows;
}

OperandTable backwardRows(OperandTable rows) {
  constexpr Parts kCellParts = kInputGatePart | kPeepholePart | kProjectionPart | kLayerNormPart;
  for (OperandRow& row : rows) {
    for (char& letter : row.shape) {
      if (letter == 'C') letter = 'D';
      if (letter == 'P') letter = 'Q';
      if (letter == 'I') letter = 'J';
    }
    row.needs = (row.needs & kCellParts) << kBackwardPartsShift | (row.needs & ~kCellParts);
    row.leads = (row.leads & kCellParts) << kBackwardPartsShift | (row.leads & ~kCellParts);
  }
  return rows;
}

void solveLstmSizes(DimensionSolver& sizes, Parts parts, char outputs, char cells) {
  if ((parts & kProjectionPart) == 0) sizes.equate(outputs, cells);
}

Status readClip(const OperationContext& context, size_t i, std::string_view name, float* value) {
  HALYARD_RETURN_IF_ERROR(context.readOptional(i, value), "{}", name);
  // The negated form also catches NaN.
  if (!(*value >= 0)) return opFailed("input {} ({}) is {}, expected 0 or more", i, name, *value);
  return okStatus();
}

}  // namespace halyard::ops

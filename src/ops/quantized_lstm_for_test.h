// Random operands for the fixed-point LSTM.
// Thread safety: none needed.
// Ownership: values.
#pragma once

#include <cmath>
#include <vector>

#include "ops/lstm_for_test.h"

namespace halyard::ops::testing {

// Sizes, parts and parameters of one run, and random operands for it.
struct QuantizedLstmCase {
  LstmParts parts;
  uint32_t batch = 2, inputs = 3, cells = 4, outputs = 4;
  int statePower = -11;
  float cellClip = 0, projectionClip = 0, hiddenScale = 1.0f / 128;
  int hiddenZero = 0;
  int weightRange = 127;
  // Without layer normalisation, the gates' input is in Q3.12.
  float gateScale = 0x1p-12f;

  static QuantizedLstmCase random(RandomOperands& random) {
    QuantizedLstmCase c;
    c.parts = LstmParts::random(random);
    c.batch = static_cast<uint32_t>(random.between(1, 6));
    c.inputs = static_cast<uint32_t>(random.between(1, 9));
    c.cells = static_cast<uint32_t>(random.between(1, 9));
    c.outputs = c.parts.projection ? static_cast<uint32_t>(random.between(1, 9)) : c.cells;
    c.statePower = random.between(-15, -9);
    c.cellClip = random.coin() ? 0 : random.realBetween(0.1f, 2);
    c.projectionClip = random.coin() ? 0 : random.realBetween(0.01f, 1);
    c.hiddenZero = random.between(-20, 20);
    return c;
  }

  std::vector<TestOperand> inputsOf(RandomOperands& random) const {
    std::vector<TestOperand> in;
    // `range`: stored values lie between -range and range.
    const auto add = [&](OperandType type, bool isPresent, const Shape& dims, int range,
                         float scale, int zeroPoint) {
      if (!isPresent) return in.push_back(TestOperand::omitted(type));
      const auto draw = [&](auto zero) {
        std::vector<decltype(zero)> values(elementsOf(dims));
        for (auto& value : values) {
          value = static_cast<decltype(zero)>(random.between(-range - 1, range));
        }
        in.push_back(TestOperand::of<decltype(zero)>(type, dims, values, scale, zeroPoint));
      };
      if (type == OperandType::TENSOR_INT32) return draw(int32_t{0});
      if (type == OperandType::TENSOR_QUANT16_SYMM) return draw(int16_t{0});
      return draw(int8_t{0});
    };
    const auto gates = [&](OperandType type, const Shape& dims, int range, float scale) {
      for (int gate = 0; gate < 4; ++gate) {
        add(type, gate > 0 || parts.inputGate, dims, range, scale, 0);
      }
    };
    add(OperandType::TENSOR_QUANT8_ASYMM_SIGNED, true, {batch, inputs}, 127, 1.0f / 100, 7);
    gates(OperandType::TENSOR_QUANT8_SYMM, {cells, inputs}, weightRange, 1.0f / 128);
    gates(OperandType::TENSOR_QUANT8_SYMM, {cells, outputs}, weightRange, 1.0f / 150);
    for (int gate = 0; gate < 3; ++gate) {
      add(OperandType::TENSOR_QUANT16_SYMM, parts.peephole && (gate > 0 || parts.inputGate),
          {cells}, 32767, 1.0f / 32768, 0);
    }
    gates(OperandType::TENSOR_INT32, {cells}, parts.layerNorm ? 20000000 : 5000, 0);
    add(OperandType::TENSOR_QUANT8_SYMM, parts.projection, {outputs, cells}, 127, 1.0f / 128, 0);
    add(OperandType::TENSOR_INT32, parts.projection && parts.projectionBias, {outputs}, 3000, 0, 0);
    add(OperandType::TENSOR_QUANT8_ASYMM_SIGNED, true, {batch, outputs}, 127, 1.0f / 110, -5);
    add(OperandType::TENSOR_QUANT16_SYMM, true, {batch, cells}, 32767, std::ldexp(1.0f, statePower),
        0);
    for (int gate = 0; gate < 4; ++gate) {
      add(OperandType::TENSOR_QUANT16_SYMM, parts.layerNorm && (gate > 0 || parts.inputGate),
          {cells}, 32767, 1.0f / 32768, 0);
    }
    in.push_back(TestOperand::float32(cellClip));
    in.push_back(TestOperand::float32(projectionClip));
    for (int gate = 0; gate < 4; ++gate) in.push_back(TestOperand::float32(gateScale));
    in.push_back(TestOperand::int32(hiddenZero));
    in.push_back(TestOperand::float32(hiddenScale));
    return in;
  }
  std::vector<TestOperand> outputsOf() const {
    const TestOperand hidden =
        TestOperand::output(OperandType::TENSOR_QUANT8_ASYMM_SIGNED, 1.0f / 110, -5);
    return {hidden,
            TestOperand::output(OperandType::TENSOR_QUANT16_SYMM, std::ldexp(1.0f, statePower)),
            hidden};
  }
};

}  // namespace halyard::ops::testing

// Tests of QUANTIZED_LSTM against its definition, step by step, and against the cell over real
// numbers, and of its errors.
#include <gtest/gtest.h>

#include <limits>

#include "ops/fixed_point.h"
#include "ops/lstm_for_test.h"
#include "ops/quantized_lstm_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using Ints = std::vector<int64_t>;

// Returns the stored values minus the zero point.
Ints integersOf(const TestOperand& operand) {
  Ints result;
  const auto take = [&](auto values) {
    for (auto value : values) result.push_back(int64_t{value} - operand.tensor.zeroPoint);
  };
  if (operand.tensor.type == TENSOR_INT32) take(operand.values<int32_t>());
  if (operand.tensor.type == TENSOR_QUANT16_SYMM) take(operand.values<int16_t>());
  if (elementSize(operand.tensor.type) == 1) take(operand.values<int8_t>());
  return result;
}

int64_t scaled(int64_t x, float scale) {
  return multiplyByFixed(static_cast<int32_t>(x), toFixedMultiplier(static_cast<double>(scale)));
}
int64_t dot(const Ints& matrix, size_t row, const Ints& vectors, size_t b, size_t size) {
  int64_t sum = 0;
  for (size_t i = 0; i < size; ++i) sum += matrix[row * size + i] * vectors[b * size + i];
  return sum;
}

// Computes one gate of one row of the batch; `state` is its peephole's input.
Ints naiveGate(const QuantizedLstmCase& c, const std::vector<TestOperand>& in, size_t gate,
               size_t b, const Ints& state) {
  const auto scaleOf = [&](size_t i) { return in[i].tensor.scale; };
  const Ints bias = integersOf(in[12 + gate]);
  Ints a(c.cells);
  for (size_t j = 0; j < c.cells; ++j) {
    const int64_t early = c.parts.layerNorm ? 0 : bias[j];
    const int64_t x = dot(integersOf(in[1 + gate]), j, integersOf(in[0]), b, c.inputs) + early;
    const int64_t h = dot(integersOf(in[5 + gate]), j, integersOf(in[18]), b, c.outputs);
    a[j] = saturate16(scaled(x, scaleOf(1 + gate) * scaleOf(0) / c.gateScale));
    a[j] = saturate16(a[j] + scaled(h, scaleOf(5 + gate) * scaleOf(18) / c.gateScale));
    if (!c.parts.peephole || gate == 2) continue;
    const size_t peephole = gate == 3 ? 11 : 9 + gate;
    const float unit = std::ldexp(1.0f, c.statePower) * scaleOf(peephole) / c.gateScale;
    a[j] = saturate16(a[j] + scaled(integersOf(in[peephole])[j] * state[j], unit));
  }
  if (!c.parts.layerNorm) return a;
  const auto count = static_cast<int64_t>(c.cells);
  int64_t sum = 0;
  int64_t squares = 0;
  for (int64_t value : a) {
    sum += value;
    squares += value * value;
  }
  const int64_t mean = sum * 1024 / count;
  const int64_t variance = (squares * ((1 << 20) / count) - mean * mean) / (1 << 20);
  const FixedMultiplier inverse = inverseSqrt(static_cast<int32_t>(std::max<int64_t>(variance, 1)));
  const Ints weights = integersOf(in[20 + gate]);
  FixedMultiplier toGate = toFixedMultiplier(static_cast<double>(scaleOf(20 + gate)));
  toGate.exponent += 12;
  for (size_t j = 0; j < c.cells; ++j) {
    const int64_t r = multiplyByFixed(static_cast<int32_t>(1024 * a[j] - mean), inverse);
    const int64_t w = r * weights[j] + bias[j];
    a[j] = saturate16(multiplyByFixed(saturate32((w + (w > 0 ? 512 : -512)) / 1024), toGate));
  }
  return a;
}

struct Expected {
  Ints hidden, state;  // stored values
};

Expected naiveStep(const QuantizedLstmCase& c, const std::vector<TestOperand>& in) {
  Expected result;
  const auto at16 = [](int64_t a) { return static_cast<int16_t>(a); };
  const Ints allBefore = integersOf(in[19]);
  for (size_t b = 0; b < c.batch; ++b) {
    const auto first = allBefore.begin() + static_cast<ptrdiff_t>(b * c.cells);
    const Ints before(first, first + c.cells);
    const Ints f = naiveGate(c, in, 1, b, before);
    const Ints g = naiveGate(c, in, 2, b, before);
    const Ints i = c.parts.inputGate ? naiveGate(c, in, 0, b, before) : Ints{};
    Ints state(c.cells);
    for (size_t j = 0; j < c.cells; ++j) {
      const int64_t forget = sigmoidFixed(at16(f[j]), 3);
      const int64_t input = i.empty() ? 32767 - forget : sigmoidFixed(at16(i[j]), 3);
      state[j] = saturate16(
          std::llround(std::ldexp(forget * before[j], -15)) +
          std::llround(std::ldexp(input * tanhFixed(at16(g[j]), 3), -30 - c.statePower)));
      const auto limit = static_cast<int64_t>(std::min(c.cellClip / in[19].tensor.scale, 32767.0f));
      if (c.cellClip > 0) state[j] = std::clamp(state[j], -limit, limit);
    }
    const Ints o = naiveGate(c, in, 3, b, state);
    Ints m(c.cells);
    for (size_t j = 0; j < c.cells; ++j) {
      const int64_t product =
          sigmoidFixed(at16(o[j]), 3) * tanhFixed(at16(state[j]), c.statePower + 15);
      m[j] = saturateTo<int8_t>(scaled(product, 0x1p-30f / c.hiddenScale) - c.hiddenZero);
    }
    if (c.parts.projection) {
      Ints centred = m;
      for (int64_t& value : centred) value += c.hiddenZero;
      m.assign(c.outputs, 0);
      for (size_t p = 0; p < c.outputs; ++p) {
        int64_t sum = dot(integersOf(in[16]), p, centred, 0, c.cells);
        if (c.parts.projectionBias) sum += integersOf(in[17])[p];
        const float unit = in[16].tensor.scale * c.hiddenScale / in[18].tensor.scale;
        m[p] = saturateTo<int8_t>(scaled(sum, unit) + in[18].tensor.zeroPoint);
        const auto limit =
            static_cast<int64_t>(std::min(c.projectionClip / in[16].tensor.scale, 127.0f));
        if (c.projectionClip > 0) m[p] = std::clamp(m[p], -limit, limit);
      }
    }
    result.hidden.insert(result.hidden.end(), m.begin(), m.end());
    result.state.insert(result.state.end(), state.begin(), state.end());
  }
  return result;
}

TEST(QuantizedLstm, IsExact) {
  RandomOperands random(261);
  for (int round = 0; round < 300; ++round) {
    const QuantizedLstmCase c = QuantizedLstmCase::random(random);
    std::vector<TestOperand> in = c.inputsOf(random);
    std::vector<TestOperand> out = c.outputsOf();
    if (c.cellClip == 0 && random.coin()) in[24] = TestOperand::omitted(FLOAT32);
    if (c.projectionClip == 0 && random.coin()) in[25] = TestOperand::omitted(FLOAT32);
    const Status status = runOperation(OperationType::QUANTIZED_LSTM, in, out);
    ASSERT_TRUE(status.ok()) << status.toString() << "; " << c.parts.text();
    const Expected expected = naiveStep(c, in);
    const auto hidden = out[0].values<int8_t>();
    const auto state = out[1].values<int16_t>();
    ASSERT_EQ(Ints(hidden.begin(), hidden.end()), expected.hidden) << c.parts.text();
    ASSERT_EQ(Ints(state.begin(), state.end()), expected.state) << c.parts.text();
    EXPECT_EQ(out[2].bytes, out[0].bytes);
    EXPECT_EQ(out[0].tensor.dims, (Shape{c.batch, c.outputs}));
    EXPECT_EQ(out[1].tensor.dims, (Shape{c.batch, c.cells}));
    EXPECT_EQ(out[2].tensor.dims, (Shape{c.batch, c.outputs}));
  }
}

// Compares with the same operands as real numbers, with and without layer normalisation. Without
// projection, the hidden values are the outputs. They have their scale, and their zero point with
// the opposite sign.
TEST(QuantizedLstm, IsAnLstm) {
  RandomOperands random(262);
  double worst = 0;
  for (int round = 0; round < 100; ++round) {
    QuantizedLstmCase c = QuantizedLstmCase::random(random);
    c.projectionClip = 0;
    // These values avoid saturation in between, which real numbers do not have.
    c.hiddenScale = 0.01f;
    c.weightRange = 40;
    c.statePower = random.between(-15, -14);
    if (!c.parts.projection) {
      c.hiddenScale = 1.0f / 110;
      c.hiddenZero = 5;
    }
    c.cells = c.cells + 3;  // normalising few values amplifies errors
    if (!c.parts.projection) c.outputs = c.cells;
    // The smallest scale with which the sums fit.
    if (c.parts.layerNorm) c.gateScale = 0x1p-10f;
    std::vector<TestOperand> in = c.inputsOf(random);
    std::vector<TestOperand> out = c.outputsOf();
    ASSERT_TRUE(runOperation(OperationType::QUANTIZED_LSTM, in, out).ok());
    // The units of operands without a declared scale.
    for (size_t gate = 0; gate < 4; ++gate) {
      in[12 + gate].tensor.scale = c.parts.layerNorm
                                       ? in[20 + gate].tensor.scale / 1024
                                       : in[0].tensor.scale * in[1 + gate].tensor.scale;
    }
    in[17].tensor.scale = in[16].tensor.scale * c.hiddenScale;
    const auto reals = [](const TestOperand& operand) {
      Reals result;
      if (operand.tensor.omitted) return result;
      for (int64_t q : integersOf(operand)) {
        result.push_back(static_cast<double>(q) * static_cast<double>(operand.tensor.scale));
      }
      return result;
    };
    std::vector<TestOperand> floats = in;
    for (TestOperand& operand : floats) {
      if (operand.tensor.omitted || isScalarType(operand.tensor.type)) continue;
      const Reals values = reals(operand);
      operand = TestOperand::of<float>(TENSOR_FLOAT32, operand.tensor.dims,
                                       std::vector<float>(values.begin(), values.end()));
    }
    NaiveLstm cell(floats, 1, c.parts.layerNorm ? 20 : 0, 0);
    cell.cellClip = c.cellClip;
    Reals hidden = realsOf(floats[18]);
    Reals state = realsOf(floats[19]);
    Reals y(hidden.size());
    cell.run({1, c.batch, c.inputs, true}, false, realsOf(floats[0]), {}, 1, hidden, state, 0,
             {1, c.batch, c.outputs, true}, y);
    const Reals quantizedState = reals(out[1]);
    const double largest = 32768 * std::ldexp(1.0, c.statePower);
    for (size_t i = 0; i < state.size(); ++i) {
      const double error = std::abs(quantizedState[i] - std::clamp(state[i], -largest, largest));
      worst = std::max(worst, error);
    }
    const Reals quantized = reals(out[0]);
    // In the projection, each hidden value may be wrong by half a unit, or a little more.
    const double slack = 0.03 + (c.parts.projection ? 0.6 * c.hiddenScale * c.cells : 0);
    for (size_t i = 0; i < y.size(); ++i) {
      const double lowest = -123.0 / 110;  // of the stored type
      const double highest = 132.0 / 110;
      ASSERT_NEAR(quantized[i], std::clamp(y[i], lowest, highest), slack)
          << "round " << round << ", " << c.parts.text();
    }
  }
  EXPECT_LT(worst, 0.02);
}

TEST(QuantizedLstm, HostileScalesAreHarmless) {
  RandomOperands random(263);
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {0,     -1,    1e-45f, 1e-38f,   1e-10f,    1,
                          1e10f, 1e38f, 3e38f,  infinity, -infinity, nan};
  size_t failures = 0;
  for (int round = 0; round < 40; ++round) {
    QuantizedLstmCase c = QuantizedLstmCase::random(random);
    c.parts = {true, true, true, true, round % 2 == 0};
    for (size_t i = 0; i < 34; ++i) {
      for (const float value : values) {
        std::vector<TestOperand> in = c.inputsOf(random);
        std::vector<TestOperand> out = c.outputsOf();
        // The sums also reach the limits of their range.
        in[13] = TestOperand::of<int32_t>(
            TENSOR_INT32, {c.cells},
            std::vector<int32_t>(c.cells, random.oneOf({std::numeric_limits<int32_t>::max(),
                                                        std::numeric_limits<int32_t>::min()})));
        TestOperand& operand = i < 32 ? in[i] : out[i - 32];
        if (operand.tensor.type == FLOAT32) {
          operand = TestOperand::float32(value);
        } else {
          operand.tensor.scale = value;
        }
        const Status status = runOperation(OperationType::QUANTIZED_LSTM, in, out);
        failures += status.ok() ? 0 : 1;
        if (!status.ok()) {
          EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
        }
      }
    }
    if (round == 4) break;
  }
  EXPECT_GT(failures, 100u);
}

TEST(QuantizedLstm, ScaleOfAMissingGateDoesNotCount) {
  RandomOperands random(265);
  QuantizedLstmCase c = QuantizedLstmCase::random(random);
  c.parts.inputGate = false;
  std::vector<TestOperand> in = c.inputsOf(random);
  in[26] = TestOperand::float32(0);
  std::vector<TestOperand> out = c.outputsOf();
  const Status status = runOperation(OperationType::QUANTIZED_LSTM, in, out);
  ASSERT_TRUE(status.ok()) << status.toString();
  const auto state = out[1].values<int16_t>();
  EXPECT_EQ(Ints(state.begin(), state.end()), naiveStep(c, in).state);
}

TEST(QuantizedLstm, FeatureLevel) {
  EXPECT_EQ(recurrentLevel(OperationType::QUANTIZED_LSTM, 0, 32, 3), 4);
  EXPECT_EQ(recurrentLevel(OperationType::QUANTIZED_LSTM, 0, 31, 3), 0);
  EXPECT_EQ(recurrentLevel(OperationType::QUANTIZED_LSTM, 0, 32, 2), 0);
}

TEST(QuantizedLstm, Refuses) {
  RandomOperands random(264);
  QuantizedLstmCase c;
  c.parts = {true, true, true, true, true};
  c.outputs = 5;
  const auto refuses = [&](size_t i, const std::function<void(TestOperand&)>& spoil,
                           const std::string& text) {
    std::vector<TestOperand> inputs = c.inputsOf(random);
    std::vector<TestOperand> results = c.outputsOf();
    spoil(i < 32 ? inputs[i] : results[i - 32]);
    expectFailure(OperationType::QUANTIZED_LSTM, inputs, results, text);
  };
  const auto omitted = [](TestOperand& o) { o = TestOperand::omitted(o.tensor.type); };
  const auto scaledBy = [](float scale) { return [=](TestOperand& o) { o.tensor.scale = scale; }; };
  const auto is = [](const TestOperand& value) { return [=](TestOperand& o) { o = value; }; };
  const auto shaped = [](const Shape& dims) {
    return [=](TestOperand& o) {
      o.tensor.dims = dims;
      o.bytes.resize(elementsOf(dims) * elementSize(o.tensor.type));
    };
  };
  refuses(1, omitted,
          "input 5 (recurrent_to_input_weights): has a value, expected none as input 1");
  refuses(5, omitted, "input 5 (recurrent_to_input_weights): has no value, expected one");
  refuses(11, omitted, "input 11 (cell_to_output_weights): has no value, expected one as input 10");
  refuses(16, omitted, "input 17 (projection_bias): has a value, expected none as input 16");
  refuses(20, omitted, "input 20 (input_layer_norm_weights): has no value, expected one");
  refuses(22, omitted, "input 22 (cell_layer_norm_weights): has no value, expected one");
  refuses(13, omitted, "input 13 (forget_gate_bias) has no value, but the operation needs it");
  refuses(31, omitted, "input 31 (hidden_state_scale) has no value");
  refuses(3, shaped({4, 4}), "input 3 (input_to_cell_weights): has shape [4,4], expected [4,3]");
  refuses(12, shaped({5}), "input 12 (input_gate_bias): has shape [5], expected [4]");
  refuses(16, shaped({4, 4}), "input 16 (projection_weights): has shape [4,4], expected [5,4]");
  refuses(18, shaped({2, 4}), "input 18 (output_state_in): has shape [2,4], expected [2,5]");
  for (const float scale : {0x1p-8f, 0x1p-16f, 0.9f * 0x1p-11f}) {
    refuses(
        19, [=](TestOperand& o) { o.tensor.scale = scale; }, "output 1 (cell_state_out)");
    c.statePower = 0;  // makes the output agree with the state
    std::vector<TestOperand> inputs = c.inputsOf(random);
    std::vector<TestOperand> results = c.outputsOf();
    inputs[19].tensor.scale = results[1].tensor.scale = scale;
    expectFailure(OperationType::QUANTIZED_LSTM, inputs, results,
                  "input 19 (cell_state_in): has scale");
    c.statePower = -11;
  }
  refuses(2, scaledBy(0), "input 2 (input_to_forget_weights): has scale 0, expected a finite");
  refuses(21, scaledBy(-1), "input 21 (forget_layer_norm_weights): has scale -1");
  refuses(24, is(TestOperand::float32(-1)), "input 24 (cell_clip) is -1, expected 0 or more");
  refuses(25, is(TestOperand::float32(std::nanf(""))), "input 25 (projection_clip) is nan");
  refuses(27, is(TestOperand::float32(0)), "input 27 (forget_intermediate_scale): is 0");
  refuses(28, is(TestOperand::float32(1e-45f)),
          "the effective scale of input 3 (input_to_cell_weights) is inf");
  refuses(30, is(TestOperand::int32(128)), "input 30 (hidden_state_zero_point): is 128");
  refuses(31, is(TestOperand::float32(-2)), "input 31 (hidden_state_scale): is -2");
  refuses(32, scaledBy(0.5f), "output 0 (output_state_out): has scale 0.5");
  refuses(
      34, [](TestOperand& o) { o.tensor.zeroPoint = 3; },
      "output 2 (output): has scale 0.009090909 and zero point 3, expected");
}

}  // namespace
}  // namespace halyard::ops::testing

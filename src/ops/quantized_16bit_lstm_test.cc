// Tests of QUANTIZED_16BIT_LSTM against its definition, step by step, and against real numbers, and
// of its errors.
#include <gtest/gtest.h>

#include <limits>

#include "ops/fixed_point.h"
#include "ops/recurrent_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

struct Lstm16BitCase {
  uint32_t batch, inputs, cells;
  float weightScale = 0.004f;
  int weightZero = 100;
  int biasRange = 20000;

  std::vector<TestOperand> inputsOf(RandomOperands& random) const {
    std::vector<TestOperand> in;
    const auto bytes = [&](const Shape& dims, float scale, int zeroPoint) {
      std::vector<uint8_t> values(elementsOf(dims));
      for (uint8_t& value : values) value = static_cast<uint8_t>(random.between(0, 255));
      in.push_back(TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, dims, values, scale, zeroPoint));
    };
    bytes({batch, inputs}, 1.0f / 128, 128);
    for (int gate = 0; gate < 4; ++gate) bytes({cells, inputs}, weightScale, weightZero);
    for (int gate = 0; gate < 4; ++gate) bytes({cells, cells}, weightScale, weightZero);
    for (int gate = 0; gate < 4; ++gate) {
      std::vector<int32_t> values(cells);
      for (int32_t& value : values) value = random.between(-biasRange, biasRange);
      in.push_back(TestOperand::of<int32_t>(TENSOR_INT32, {cells}, values, weightScale / 128));
    }
    std::vector<int16_t> state(size_t{batch} * cells);
    for (int16_t& value : state) value = static_cast<int16_t>(random.between(-32768, 32767));
    in.push_back(TestOperand::of<int16_t>(TENSOR_QUANT16_SYMM, {batch, cells}, state, 1.0f / 2048));
    bytes({batch, cells}, 1.0f / 128, 128);
    return in;
  }
};

std::vector<TestOperand> outputs() {
  return {TestOperand::output(TENSOR_QUANT16_SYMM, 1.0f / 2048),
          TestOperand::output(TENSOR_QUANT8_ASYMM, 1.0f / 128, 128)};
}

// Computes the sum of products of paired values, by the definition's concatenations.
int64_t naiveSum(const std::vector<TestOperand>& in, const Lstm16BitCase& c, size_t gate, size_t b,
                 size_t j) {
  std::vector<int> values;
  for (size_t i = 0; i < c.inputs; ++i) values.push_back(in[0].bytes[b * c.inputs + i] - 128);
  for (size_t i = 0; i < c.cells; ++i) values.push_back(in[14].bytes[b * c.cells + i] - 128);
  std::vector<int> row;
  for (size_t i = 0; i < c.cells; ++i) row.push_back(in[5 + gate].bytes[j * c.cells + i]);
  for (size_t i = 0; i < c.inputs; ++i) row.push_back(in[1 + gate].bytes[j * c.inputs + i]);
  int64_t sum = in[9 + gate].values<int32_t>()[j];
  for (size_t t = 0; t < row.size(); ++t) sum += int64_t{values[t]} * (row[t] - c.weightZero);
  return sum;
}

TEST(Quantized16BitLstm, IsExact) {
  RandomOperands random(251);
  for (int round = 0; round < 60; ++round) {
    const auto sizeUpTo = [&](int most) { return static_cast<uint32_t>(random.between(1, most)); };
    const Lstm16BitCase c = {sizeUpTo(7), sizeUpTo(9), sizeUpTo(9),
                             random.oneOf({0.0001f, 0.004f, 0.03f}), random.between(0, 255)};
    std::vector<TestOperand> in = c.inputsOf(random);
    std::vector<TestOperand> out = outputs();
    const Status status = runOperation(OperationType::QUANTIZED_16BIT_LSTM, in, out);
    ASSERT_TRUE(status.ok()) << status.toString();
    const FixedMultiplier scale = toFixedMultiplier(static_cast<double>(in[9].tensor.scale) * 4096);
    for (size_t b = 0; b < c.batch; ++b) {
      for (size_t j = 0; j < c.cells; ++j) {
        int16_t a[4];
        double real[4];
        for (size_t gate = 0; gate < 4; ++gate) {
          const int64_t sum = naiveSum(in, c, gate, b, j);
          a[gate] = saturate16(multiplyByFixed(static_cast<int32_t>(sum), scale));
          real[gate] = std::clamp(static_cast<double>(sum) * in[9].tensor.scale, -8.0, 8.0);
        }
        const size_t at = b * c.cells + j;
        const int16_t before = in[13].values<int16_t>()[at];
        const int p = multiplyHigh16(sigmoidFixed(a[0], 3), tanhFixed(a[2], 3));
        const auto state =
            saturate16(std::lround(p / 16.0) + multiplyHigh16(sigmoidFixed(a[1], 3), before));
        const auto wide = static_cast<int16_t>(std::clamp(2 * state, -32768, 32767));
        const int h = multiplyHigh16(sigmoidFixed(a[3], 3), tanhFixed(wide, 3));
        ASSERT_EQ(out[0].values<int16_t>()[at], state);
        ASSERT_EQ(out[1].bytes[at], 128 + std::clamp<long>(std::lround(h / 256.0), -128, 127));
        // The result must be that of an LSTM.
        const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
        const double cell =
            std::clamp(sigmoid(real[1]) * before / 2048.0 + sigmoid(real[0]) * std::tanh(real[2]),
                       -16.0, 16.0 - 1 / 2048.0);
        ASSERT_NEAR(state / 2048.0, cell, 0.008);
        ASSERT_NEAR((out[1].bytes[at] - 128) / 128.0, sigmoid(real[3]) * std::tanh(cell), 0.012);
      }
    }
  }
}

TEST(Quantized16BitLstm, SumsAndScalesThatOverflowAreHarmless) {
  RandomOperands random(252);
  const float largest = std::numeric_limits<float>::max();
  const float smallest = std::numeric_limits<float>::denorm_min();
  for (const float scale : {largest, 1e30f, 1.0f, 1e-30f, smallest}) {
    Lstm16BitCase c = {2, 3, 4, scale, 0};
    c.biasRange = std::numeric_limits<int32_t>::max();
    std::vector<TestOperand> in = c.inputsOf(random);
    std::vector<TestOperand> out = outputs();
    const Status status = runOperation(OperationType::QUANTIZED_16BIT_LSTM, in, out);
    EXPECT_TRUE(status.ok()) << status.toString();
  }
}

TEST(Quantized16BitLstm, FeatureLevel) {
  EXPECT_EQ(recurrentLevel(OperationType::QUANTIZED_16BIT_LSTM, 0, 15, 2), 3);
}

TEST(Quantized16BitLstm, Refuses) {
  RandomOperands random(253);
  const auto refuses = [&](size_t i, const std::function<void(TestOperand&)>& spoil,
                           const std::string& text) {
    std::vector<TestOperand> inputs = Lstm16BitCase{2, 3, 4}.inputsOf(random);
    std::vector<TestOperand> results = outputs();
    spoil(i < 15 ? inputs[i] : results[i - 15]);
    expectFailure(OperationType::QUANTIZED_16BIT_LSTM, inputs, results, text);
  };
  const auto scaled = [](float scale) { return [=](TestOperand& o) { o.tensor.scale = scale; }; };
  const auto zero = [](int zeroPoint) {
    return [=](TestOperand& o) { o.tensor.zeroPoint = zeroPoint; };
  };
  const auto shaped = [](const Shape& dims) {
    return [=](TestOperand& o) {
      o.tensor.dims = dims;
      o.bytes.resize(elementsOf(dims) * elementSize(o.tensor.type));
    };
  };
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  refuses(0, scaled(0.5f), "input 0 (input): has scale 0.5 and zero point 128, expected 0.0078125");
  refuses(0, zero(127), "input 0 (input): has scale 0.0078125 and zero point 127");
  for (const float scale : {0.0f, -1.0f, infinity, nan}) {
    refuses(1, scaled(scale), "input 1 (input_to_input_weights): has scale");
    refuses(7, scaled(scale), "input 7 (recurrent_to_cell_weights): has scale");
    refuses(13, scaled(scale), "input 13 (cell_state_in): has scale");
    refuses(15, scaled(scale), "output 0 (cell_state_out): has scale");
  }
  refuses(4, zero(99), "input 4 (input_to_output_weights): has scale 0.004 and zero point 99");
  refuses(9, scaled(0.001f), "input 9 (input_gate_bias): has scale 0.001");
  refuses(14, zero(0), "input 14 (output_state_in): has scale 0.0078125 and zero point 0");
  refuses(16, zero(0), "output 1 (output): has scale 0.0078125 and zero point 0, expected");
  refuses(2, shaped({4, 4}), "input 2 (input_to_forget_weights): has shape [4,4], expected [4,3]");
  refuses(8, shaped({4, 3}), "input 8 (recurrent_to_output_weights): has shape [4,3]");
  refuses(10, shaped({3}), "input 10 (forget_gate_bias): has shape [3], expected [4]");
  refuses(10, shaped({0}), "input 10 (forget_gate_bias): has shape [0], expected [4]");
  refuses(13, shaped({1, 4}), "input 13 (cell_state_in): has shape [1,4], expected [2,4]");
  refuses(14, shaped({8}), "input 14 (output_state_in): has rank 1 [8], expected rank 2");
}

}  // namespace
}  // namespace halyard::ops::testing

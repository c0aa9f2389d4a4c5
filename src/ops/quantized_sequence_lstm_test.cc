// Tests of QUANTIZED_SEQUENCE_LSTM against QUANTIZED_LSTM, step by step, and of its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/quantized_lstm_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using enum OperationType;
using Bytes = std::vector<int8_t>;

// A sequence of random values, [steps, batch, inputs] or [batch, steps, inputs].
struct SequenceCase {
  QuantizedLstmCase cell;
  uint32_t steps = 3;
  bool timeMajor = true;
  std::vector<TestOperand> inputs;

  SequenceCase(RandomOperands& random, const QuantizedLstmCase& of) : cell(of) {
    steps = static_cast<uint32_t>(random.between(1, 5));
    timeMajor = random.coin();
    inputs = cell.inputsOf(random);
    Bytes values(elementsOf(dims()));
    for (int8_t& value : values) value = static_cast<int8_t>(random.between(-128, 127));
    const Tensor& step = inputs[0].tensor;
    inputs[0] = TestOperand::of<int8_t>(step.type, dims(), values, step.scale, step.zeroPoint);
    inputs.push_back(TestOperand::boolean(timeMajor));
  }

  Shape dims() const {
    return timeMajor ? Shape{steps, cell.batch, cell.inputs}
                     : Shape{cell.batch, steps, cell.inputs};
  }
  size_t row(size_t step, size_t b) const {
    return timeMajor ? step * cell.batch + b : b * steps + step;
  }

  // Computed by QUANTIZED_LSTM.
  Bytes expected() const {
    std::vector<TestOperand> in(inputs.begin(), inputs.end() - 1);
    const Bytes sequence = inputs[0].values<int8_t>();
    Bytes result(steps * cell.batch * cell.outputs);
    for (size_t s = 0; s < steps; ++s) {
      Bytes x;
      for (size_t b = 0; b < cell.batch; ++b) {
        const auto* const from = sequence.data() + row(s, b) * cell.inputs;
        x.insert(x.end(), from, from + cell.inputs);
      }
      const Tensor& like = inputs[0].tensor;
      in[0] = TestOperand::of<int8_t>(like.type, {cell.batch, cell.inputs}, x, like.scale,
                                      like.zeroPoint);
      std::vector<TestOperand> out = cell.outputsOf();
      const Status status = runOperation(QUANTIZED_LSTM, in, out);
      EXPECT_TRUE(status.ok()) << status.toString();
      if (!status.ok()) return {};
      const Bytes hidden = out[2].values<int8_t>();
      for (size_t b = 0; b < cell.batch; ++b) {
        std::copy_n(hidden.data() + b * cell.outputs, cell.outputs,
                    result.data() + row(s, b) * cell.outputs);
      }
      in[18].bytes = out[0].bytes;
      in[19].bytes = out[1].bytes;
    }
    return result;
  }
};

Status run(SequenceCase& test, std::vector<TestOperand>* outputs) {
  *outputs = {test.cell.outputsOf()[0]};
  return runOperation(QUANTIZED_SEQUENCE_LSTM, test.inputs, *outputs);
}

TEST(QuantizedSequenceLstm, IsTheOperationOfOneStepRepeated) {
  RandomOperands random(911);
  for (int round = 0; round < 200; ++round) {
    SequenceCase test(random, QuantizedLstmCase::random(random));
    std::vector<TestOperand> outputs;
    const Status status = run(test, &outputs);
    ASSERT_TRUE(status.ok()) << status.toString() << " round " << round;
    Shape dims = test.dims();
    dims[2] = test.cell.outputs;
    EXPECT_EQ(outputs[0].tensor.dims, dims);
    ASSERT_EQ(outputs[0].values<int8_t>(), test.expected()) << "round " << round;
  }
}

TEST(QuantizedSequenceLstm, Errors) {
  RandomOperands random(912);
  std::vector<TestOperand> outputs;
  SequenceCase step(random, QuantizedLstmCase());
  step.inputs[0].tensor.dims = {step.steps * step.cell.batch, step.cell.inputs};
  EXPECT_THAT(run(step, &outputs).message(), ::testing::HasSubstr("rank"));

  SequenceCase depth(random, QuantizedLstmCase());
  depth.inputs[0].tensor.dims[2] = 1;
  EXPECT_EQ(run(depth, &outputs).code(), ResultCode::OP_FAILED);

  SequenceCase scale(random, QuantizedLstmCase());
  scale.inputs[18].tensor.scale *= 2;
  EXPECT_THAT(run(scale, &outputs).message(), ::testing::HasSubstr("the output has scale"));
}

}  // namespace
}  // namespace halyard::ops::testing

// Tests of LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM against the cell in plain loops, and of their
// errors.
#include <gtest/gtest.h>

#include <limits>

#include "ops/lstm_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

// Layer normalisation amplifies rounding errors if the values are close together.
constexpr double kLstmSlack = 1e-4;

struct LstmCase {
  LstmParts parts;
  LstmSizes sizes;
  uint32_t steps = 1, batch = 2;
  bool timeMajor = true;
  int code = 4;
  float cellClip = 0, projectionClip = 0;

  static LstmCase random(RandomOperands& random) {
    LstmCase c;
    c.parts = LstmParts::random(random);
    c.sizes.inputs = static_cast<uint32_t>(random.between(1, 9));
    c.sizes.cells = static_cast<uint32_t>(random.between(4, 9));
    c.sizes.outputs =
        c.parts.projection ? static_cast<uint32_t>(random.between(1, 9)) : c.sizes.cells;
    c.batch = static_cast<uint32_t>(random.oneOf({1, 2, 3, 5, 9, 50}));
    c.timeMajor = random.coin();
    c.code = random.oneOf({0, 1, 2, 3, 4, 6});
    c.cellClip = random.coin() ? 0 : random.realBetween(0.1f, 1);
    c.projectionClip = random.coin() ? 0 : random.realBetween(0.1f, 0.5f);
    return c;
  }
  std::string text() const {
    return fmt::format("{}; {} steps, batch {}, activation {}", parts.text(), steps, batch, code);
  }
  Shape leading(uint32_t size) const {
    return timeMajor ? Shape{steps, batch, size} : Shape{batch, steps, size};
  }
  // Returns the inputs of LSTM, or of the sequence operation.
  std::vector<TestOperand> inputsOf(RandomOperands& random, OperandType type, bool sequence) const {
    std::vector<TestOperand> in = {
        random.tensor(type, sequence ? leading(sizes.inputs) : Shape{batch, sizes.inputs})};
    const auto append = [&](const std::vector<TestOperand>& more) {
      in.insert(in.end(), more.begin(), more.end());
    };
    append(lstmWeightOperands(random, type, parts, sizes));
    append({random.tensor(type, {batch, sizes.outputs}), random.tensor(type, {batch, sizes.cells}),
            TestOperand::int32(code), realScalar(type, cellClip),
            realScalar(type, projectionClip)});
    if (sequence) append({TestOperand::boolean(timeMajor)});
    append(lstmGateOperands(random, type, parts.layerNorm, parts.inputGate, {sizes.cells}));
    return in;
  }
};

// Returns the value rounded to a half-precision scalar, if that is the type.
float asStored(OperandType type, float value) {
  return type == TENSOR_FLOAT16 ? toFloat(toFloat16(value)) : value;
}

NaiveLstm naiveOf(const LstmCase& c, const std::vector<TestOperand>& in, size_t layerNorm) {
  NaiveLstm cell(in, 1, layerNorm, 0);
  cell.code = c.code;
  cell.cellClip = asStored(in[0].tensor.type, c.cellClip);
  cell.projectionClip = asStored(in[0].tensor.type, c.projectionClip);
  return cell;
}

TEST(Lstm, AgreesWithDefinition) {
  RandomOperands random(231);
  for (int round = 0; round < 300; ++round) {
    const LstmCase c = LstmCase::random(random);
    const OperandType type = round % 3 == 0 ? TENSOR_FLOAT16 : TENSOR_FLOAT32;
    std::vector<TestOperand> in = c.inputsOf(random, type, false);
    if (!c.parts.layerNorm && random.coin()) in.resize(23);
    std::vector<TestOperand> out(4, TestOperand::output(type));
    const Status status = runOperation(OperationType::LSTM, in, out);
    ASSERT_TRUE(status.ok()) << status.toString() << "; " << c.text();
    Reals hidden = realsOf(in[18]);
    Reals cell = realsOf(in[19]);
    Reals y(hidden.size());
    naiveOf(c, in, 23).run({1, c.batch, c.sizes.inputs, true}, false, realsOf(in[0]), {}, 1, hidden,
                           cell, 0, {1, c.batch, c.sizes.outputs, true}, y);
    EXPECT_EQ(out[0].tensor.dims, (Shape{c.batch, (c.parts.inputGate ? 4 : 3) * c.sizes.cells}));
    EXPECT_EQ(out[1].tensor.dims, (Shape{c.batch, c.sizes.outputs}));
    expectReals(out[1], hidden, c.text(), kLstmSlack);
    expectReals(out[2], cell, c.text(), kLstmSlack);
    EXPECT_EQ(out[3].bytes, out[1].bytes);
    EXPECT_EQ(out[3].tensor.dims, out[1].tensor.dims);
    EXPECT_TRUE(
        std::all_of(out[0].bytes.begin(), out[0].bytes.end(), [](int b) { return b == 0; }));
    if (HasFatalFailure()) return;
  }
}

// One cell, with every number calculated by hand. All gates except the cell's are sigmoid(0) = 1/2.
TEST(Lstm, ByHand) {
  const auto f = [](const Shape& dims, float value) {
    return TestOperand::of<float>(TENSOR_FLOAT32, dims, {value});
  };
  const TestOperand none = TestOperand::omitted(TENSOR_FLOAT32);
  std::vector<TestOperand> in = {f({1, 1}, 2), f({1, 1}, 0), f({1, 1}, 0),  f({1, 1}, 3),
                                 f({1, 1}, 0), f({1, 1}, 0), f({1, 1}, 0),  f({1, 1}, 1),
                                 f({1, 1}, 0), none,         none,          none,
                                 f({1}, 0),    f({1}, 0),    f({1}, 0.5f),  f({1}, 0),
                                 none,         none,         f({1, 1}, -1), f({1, 1}, 4)};
  for (const TestOperand& scalar :
       {TestOperand::int32(0), TestOperand::float32(0), TestOperand::float32(0)}) {
    in.push_back(scalar);
  }
  std::vector<TestOperand> out(4, TestOperand::output(TENSOR_FLOAT32));
  ASSERT_TRUE(runOperation(OperationType::LSTM, in, out).ok());
  // The cell's sum is 2 * 3 - 1 * 1 + 0.5 = 5.5; the state is 4 / 2 + 5.5 / 2.
  EXPECT_FLOAT_EQ(out[2].values<float>()[0], 4.75f);
  EXPECT_FLOAT_EQ(out[3].values<float>()[0], 2.375f);
  in[21] = TestOperand::float32(3);
  ASSERT_TRUE(runOperation(OperationType::LSTM, in, out).ok());
  EXPECT_FLOAT_EQ(out[2].values<float>()[0], 3);
  EXPECT_FLOAT_EQ(out[3].values<float>()[0], 1.5f);
}

TEST(UnidirectionalSequenceLstm, AgreesWithDefinition) {
  RandomOperands random(232);
  for (int round = 0; round < 150; ++round) {
    LstmCase c = LstmCase::random(random);
    c.steps = static_cast<uint32_t>(random.between(1, 6));
    c.code = random.oneOf({4, 6});
    const OperandType type = round % 3 == 0 ? TENSOR_FLOAT16 : TENSOR_FLOAT32;
    std::vector<TestOperand> in = c.inputsOf(random, type, true);
    std::vector<TestOperand> out(random.coin() ? 3 : 1, TestOperand::output(type));
    const Status status = runOperation(OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM, in, out);
    ASSERT_TRUE(status.ok()) << status.toString() << "; " << c.text();
    Reals hidden = realsOf(in[18]);
    Reals cell = realsOf(in[19]);
    Reals y(c.steps * hidden.size());
    naiveOf(c, in, 24).run({c.steps, c.batch, c.sizes.inputs, c.timeMajor}, false, realsOf(in[0]),
                           {}, 1, hidden, cell, 0, {c.steps, c.batch, c.sizes.outputs, c.timeMajor},
                           y);
    EXPECT_EQ(out[0].tensor.dims, c.leading(c.sizes.outputs));
    expectReals(out[0], y, c.text(), kLstmSlack);
    if (out.size() > 1) {
      EXPECT_EQ(out[1].tensor.dims, in[18].tensor.dims);
      EXPECT_EQ(out[2].tensor.dims, in[19].tensor.dims);
      expectReals(out[1], hidden, c.text(), kLstmSlack);
      expectReals(out[2], cell, c.text(), kLstmSlack);
    }
    if (HasFatalFailure()) return;
  }
}

// More gate sums than the kernel computes ahead at a time.
TEST(UnidirectionalSequenceLstm, LongAndWide) {
  RandomOperands random(233);
  LstmCase c;
  c.steps = 50;
  c.batch = 30;
  c.sizes = {30, 230, 230, 0};
  std::vector<TestOperand> in = c.inputsOf(random, TENSOR_FLOAT32, true);
  // Small weights, because otherwise all cells saturate.
  for (size_t i = 1; i <= 8; ++i) {
    std::vector<float> values = in[i].values<float>();
    for (float& value : values) value *= 0.1f;
    in[i] = TestOperand::of<float>(TENSOR_FLOAT32, in[i].tensor.dims, values);
  }
  std::vector<TestOperand> whole(3, TestOperand::output(TENSOR_FLOAT32));
  ASSERT_TRUE(runOperation(OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM, in, whole).ok());
  // The same, step by step.
  const TestOperand x = in[0];
  in.erase(in.begin() + 23);
  const size_t width = size_t{c.batch} * c.sizes.outputs;
  for (size_t s = 0; s < c.steps; ++s) {
    const size_t bytes = size_t{c.batch} * c.sizes.inputs * 4;
    in[0].tensor.dims = {c.batch, c.sizes.inputs};
    in[0].bytes.assign(x.bytes.begin() + static_cast<ptrdiff_t>(s * bytes),
                       x.bytes.begin() + static_cast<ptrdiff_t>((s + 1) * bytes));
    std::vector<TestOperand> out(4, TestOperand::output(TENSOR_FLOAT32));
    ASSERT_TRUE(runOperation(OperationType::LSTM, in, out).ok());
    const Reals all = realsOf(whole[0]);
    expectReals(out[3],
                Reals(all.begin() + static_cast<ptrdiff_t>(s * width),
                      all.begin() + static_cast<ptrdiff_t>((s + 1) * width)),
                fmt::format("step {}", s), 1e-5);
    in[18] = out[1];
    in[19] = out[2];
    if (HasFatalFailure()) return;
  }
  expectReals(whole[2], realsOf(in[19]), "last state", 1e-5);
}

TEST(LstmSignatures, FeatureLevels) {
  EXPECT_EQ(recurrentLevel(OperationType::LSTM, 0, 23, 4), 1);
  EXPECT_EQ(recurrentLevel(OperationType::LSTM, 0, 27, 4), 3);
  EXPECT_EQ(recurrentLevel(OperationType::LSTM, 1, 23, 4), 3);
  EXPECT_EQ(recurrentLevel(OperationType::LSTM, 0, 24, 4), 0);
  EXPECT_EQ(recurrentLevel(OperationType::LSTM, 0, 23, 3), 0);
  EXPECT_EQ(recurrentLevel(OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM, 0, 28, 1), 3);
  EXPECT_EQ(recurrentLevel(OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM, 1, 28, 3), 4);
  EXPECT_EQ(recurrentLevel(OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM, 0, 28, 2), 0);
}

class LstmErrors : public ::testing::Test {
 protected:
  LstmErrors() {
    full_.parts = {true, true, true, true, true};
    full_.sizes = {3, 4, 5, 0};
  }
  TestOperand f(const Shape& dims) { return random_.tensor(TENSOR_FLOAT32, dims); }
  void refuse(const LstmCase& c, size_t i, const TestOperand& wrong, const std::string& text) {
    std::vector<TestOperand> inputs = c.inputsOf(random_, TENSOR_FLOAT32, false);
    inputs[i] = wrong;
    expectFailure(OperationType::LSTM, inputs, {4, TestOperand::output(TENSOR_FLOAT32)}, text);
  }
  RandomOperands random_{234};
  LstmCase full_;
  TestOperand none_ = TestOperand::omitted(TENSOR_FLOAT32);
};

TEST_F(LstmErrors, Presence) {
  refuse(full_, 5, none_,
         "input 5 (recurrent_to_input_weights): has no value, expected one as input 1 "
         "(input_to_input_weights) has one");
  refuse(full_, 12, none_, "input 12 (input_gate_bias): has no value");
  refuse(full_, 1, none_,
         "input 5 (recurrent_to_input_weights): has a value, expected none as input 1 "
         "(input_to_input_weights) has none");
  refuse(full_, 9, none_, "input 9 (cell_to_input_weights): has no value");
  refuse(full_, 10, none_,
         "input 9 (cell_to_input_weights): has a value, expected none as input 10 "
         "(cell_to_forget_weights) has none");
  refuse(full_, 11, none_, "input 11 (cell_to_output_weights): has no value");
  refuse(full_, 16, none_,
         "input 17 (projection_bias): has a value, expected none as input 16 "
         "(projection_weights) has none");
  refuse(full_, 23, none_, "input 23 (input_layer_norm_weights): has no value");
  refuse(full_, 24, none_, "input 23 (input_layer_norm_weights): has a value, expected none");
  refuse(full_, 25, none_, "input 25 (cell_layer_norm_weights): has no value");
  refuse(full_, 26, none_, "input 26 (output_layer_norm_weights): has no value");
  for (size_t i : {0, 2, 3, 4, 6, 7, 8, 13, 14, 15, 18, 19}) {
    refuse(full_, i, none_, fmt::format("input {} (", i));
  }
  LstmCase coupled = full_;
  coupled.parts.inputGate = false;
  refuse(coupled, 9, f({4}),
         "input 9 (cell_to_input_weights): has a value, expected none as input 1 "
         "(input_to_input_weights) has none");
  refuse(coupled, 23, f({4}), "input 23 (input_layer_norm_weights): has a value, expected none");
  LstmCase plain = full_;
  plain.parts = {};
  plain.sizes.outputs = 4;
  refuse(plain, 17, f({4}), "input 17 (projection_bias): has a value, expected none");
  refuse(plain, 26, f({4}), "input 26 (output_layer_norm_weights): has a value, expected none");
}

TEST_F(LstmErrors, ShapesAndValues) {
  refuse(full_, 0, f({2, 3, 1}), "input 0 (input): has rank 3 [2,3,1], expected rank 2");
  refuse(full_, 2, f({4, 4}), "input 2 (input_to_forget_weights): has shape [4,4], expected [4,3]");
  refuse(full_, 6, f({4, 4}),
         "input 6 (recurrent_to_forget_weights): has shape [4,4], expected [4,5]");
  refuse(full_, 10, f({5}), "input 10 (cell_to_forget_weights): has shape [5], expected [4]");
  refuse(full_, 14, f({4, 1}), "input 14 (cell_bias): has rank 2 [4,1], expected rank 1");
  refuse(full_, 16, f({4, 5}), "input 16 (projection_weights): has shape [4,5], expected [5,4]");
  refuse(full_, 17, f({4}), "input 17 (projection_bias): has shape [4], expected [5]");
  refuse(full_, 18, f({2, 4}), "input 18 (output_state_in): has shape [2,4], expected [2,5]");
  refuse(full_, 19, f({3, 4}), "input 19 (cell_state_in): has shape [3,4], expected [2,4]");
  refuse(full_, 26, f({3}), "input 26 (output_layer_norm_weights): has shape [3], expected [4]");
  refuse(full_, 19, f({0, 4}), "zero-sized");
  // Without projection the outputs are the cells.
  LstmCase plain = full_;
  plain.parts = {};
  refuse(plain, 20, TestOperand::int32(4),
         "input 5 (recurrent_to_input_weights): has shape [4,5], expected [4,4]");

  refuse(full_, 20, TestOperand::int32(5), "input 20 (activation) is 5");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  refuse(full_, 21, TestOperand::float32(-1), "input 21 (cell_clip) is -1, expected 0 or more");
  refuse(full_, 21, TestOperand::float32(nan), "input 21 (cell_clip) is nan");
  refuse(full_, 22, TestOperand::float32(nan), "input 22 (projection_clip) is nan");

  full_.steps = 3;
  full_.timeMajor = false;
  std::vector<TestOperand> inputs = full_.inputsOf(random_, TENSOR_FLOAT32, true);
  inputs[23] = TestOperand::boolean(true);
  expectFailure(OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM, inputs,
                {1, TestOperand::output(TENSOR_FLOAT32)},
                "input 18 (output_state_in): has shape [2,5], expected [3,5]");
}

}  // namespace
}  // namespace halyard::ops::testing

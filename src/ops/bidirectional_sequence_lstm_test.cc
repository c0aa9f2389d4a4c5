// Tests of BIDIRECTIONAL_SEQUENCE_LSTM against two cells in plain loops, in all modes, and of its
// errors.
#include <gtest/gtest.h>

#include "ops/lstm_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
constexpr OperationType kOperation = OperationType::BIDIRECTIONAL_SEQUENCE_LSTM;
constexpr double kBidirectionalSlack = 1e-4;

struct BothCase {
  uint32_t steps = 3, batch = 2, inputs = 3, aux = 2;
  LstmParts parts[2];
  LstmSizes sizes[2];
  int linking = 0;  // 0 none, 1 parallel, 2 cross
  bool merged = false, timeMajor = true, states = true;
  float cellClip = 0.75f, projectionClip = 0.25f;

  static BothCase random(RandomOperands& random) {
    BothCase c;
    for (uint32_t* size : {&c.steps, &c.batch, &c.inputs, &c.aux}) {
      *size = static_cast<uint32_t>(random.between(1, 5));
    }
    c.linking = random.between(0, 2);
    for (int d : {0, 1}) {
      c.parts[d] = LstmParts::random(random);
      c.sizes[d].cells = static_cast<uint32_t>(random.between(4, 7));
      c.sizes[d].outputs =
          c.parts[d].projection ? static_cast<uint32_t>(random.between(1, 6)) : c.sizes[d].cells;
    }
    c.merged = random.coin();
    c.timeMajor = random.coin();
    c.states = random.coin();
    return c;
  }
  std::string text() const {
    return fmt::format("fw {}; bw {}; linking {}, merged {}, time major {}", parts[0].text(),
                       parts[1].text(), linking, merged, timeMajor);
  }
  Shape leading(uint32_t size) const {
    return timeMajor ? Shape{steps, batch, size} : Shape{batch, steps, size};
  }
  uint32_t inputSize(int d) const { return d == 1 && linking == 1 ? aux : inputs; }

  std::vector<TestOperand> inputsOf(RandomOperands& random, OperandType type) const {
    std::vector<TestOperand> in = {random.tensor(type, leading(inputs))};
    const auto append = [&](const std::vector<TestOperand>& more) {
      in.insert(in.end(), more.begin(), more.end());
    };
    for (int d : {0, 1}) {
      LstmSizes all = sizes[d];
      all.inputs = inputSize(d);
      append(lstmWeightOperands(random, type, parts[d], all));
    }
    for (int d : {0, 1}) {
      append({random.tensor(type, {batch, sizes[d].outputs}),
              random.tensor(type, {batch, sizes[d].cells})});
    }
    append({linking == 0 ? TestOperand::omitted(type) : random.tensor(type, leading(aux))});
    for (int d : {0, 1}) {
      append(
          lstmGateOperands(random, type, linking == 2, parts[d].inputGate, {sizes[d].cells, aux}));
    }
    append({TestOperand::int32(4), realScalar(type, cellClip), realScalar(type, projectionClip),
            TestOperand::boolean(merged), TestOperand::boolean(timeMajor)});
    for (int d : {0, 1}) {
      append(
          lstmGateOperands(random, type, parts[d].layerNorm, parts[d].inputGate, {sizes[d].cells}));
    }
    return in;
  }
};

void check(RandomOperands& random, const BothCase& c, OperandType type) {
  std::vector<TestOperand> in = c.inputsOf(random, type);
  ASSERT_EQ(in.size(), 61u);
  std::vector<TestOperand> out((c.merged ? 1 : 2) + (c.states ? 4 : 0), TestOperand::output(type));
  const Status status = runOperation(kOperation, in, out);
  ASSERT_TRUE(status.ok()) << status.toString() << "; " << c.text();

  const uint32_t together = c.sizes[0].outputs + c.sizes[1].outputs;
  std::vector<Reals> expected;
  std::vector<Shape> shapes;
  for (int d = 0; d < (c.merged ? 1 : 2); ++d) {
    shapes.push_back(c.leading(c.merged ? together : c.sizes[d].outputs));
    expected.emplace_back(elementsOf(shapes.back()));
  }
  for (const int d : {0, 1}) {
    NaiveLstm cell(in, d == 0 ? 1 : 18, d == 0 ? 53 : 57, d == 0 ? 40 : 44);
    cell.cellClip = c.cellClip;
    cell.projectionClip = c.projectionClip;
    Reals hidden = realsOf(in[d == 0 ? 35 : 37]);
    Reals state = realsOf(in[d == 0 ? 36 : 38]);
    const Reals aux = realsOf(in[39]);
    const bool seesAux = d == 1 && c.linking == 1;
    const size_t width = c.merged ? together : c.sizes[d].outputs;
    cell.run({c.steps, c.batch, c.inputSize(d), c.timeMajor}, d == 1,
             seesAux ? aux : realsOf(in[0]), aux, c.aux, hidden, state,
             c.merged && d == 1 ? c.sizes[0].outputs : 0, {c.steps, c.batch, width, c.timeMajor},
             expected[c.merged ? 0 : static_cast<size_t>(d)]);
    if (!c.states) continue;
    expected.push_back(hidden);
    expected.push_back(state);
    shapes.push_back({c.batch, c.sizes[d].outputs});
    shapes.push_back({c.batch, c.sizes[d].cells});
  }
  ASSERT_EQ(out.size(), expected.size());
  for (size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i].tensor.dims, shapes[i]) << c.text();
    expectReals(out[i], expected[i], fmt::format("output {}, {}", i, c.text()),
                kBidirectionalSlack);
  }
}

TEST(BidirectionalSequenceLstm, AgreesWithDefinition) {
  RandomOperands random(241);
  for (int round = 0; round < 300; ++round) {
    check(random, BothCase::random(random), round % 3 == 0 ? TENSOR_FLOAT16 : TENSOR_FLOAT32);
    if (HasFatalFailure()) return;
  }
}

TEST(BidirectionalSequenceLstm, FeatureLevels) {
  const auto level = [](size_t outputs, const std::set<size_t>& omitted) {
    return recurrentLevel(kOperation, 0, 61, outputs, omitted);
  };
  const std::set<size_t> weights = {40, 41, 42, 43, 44, 45, 46, 47};
  std::set<size_t> all = weights;
  all.insert(39);
  EXPECT_EQ(level(1, {}), 3);
  EXPECT_EQ(level(2, all), 3);
  EXPECT_EQ(level(2, weights), 4);  // parallel linking
  EXPECT_EQ(level(5, {}), 4);
  EXPECT_EQ(level(6, {}), 4);
  EXPECT_EQ(level(3, {}), 0);
  EXPECT_EQ(level(4, {}), 0);
}

TEST(BidirectionalSequenceLstm, Refuses) {
  RandomOperands random(242);
  BothCase c;
  c.linking = 2;
  c.states = false;
  c.parts[0] = c.parts[1] = {true, true, true, true, true};
  c.sizes[0] = {0, 4, 5, 0};
  c.sizes[1] = {0, 6, 7, 0};
  const auto refuses = [&](size_t i, const TestOperand& wrong, const std::string& text) {
    std::vector<TestOperand> inputs = c.inputsOf(random, TENSOR_FLOAT32);
    inputs[i] = wrong;
    expectFailure(kOperation, inputs, {2, TestOperand::output(TENSOR_FLOAT32)}, text);
  };
  const auto f = [&](const Shape& dims) { return random.tensor(TENSOR_FLOAT32, dims); };
  const TestOperand none = TestOperand::omitted(TENSOR_FLOAT32);
  refuses(18, none,
          "input 22 (bw_recurrent_to_input_weights): has a value, expected none as "
          "input 18 (bw_input_to_input_weights) has none");
  refuses(22, none, "input 22 (bw_recurrent_to_input_weights): has no value");
  refuses(27, none, "input 26 (bw_cell_to_input_weights): has a value, expected none as input 27");
  refuses(33, none, "input 34 (bw_projection_bias): has a value, expected none as input 33");
  refuses(39, none,
          "input 41 (fw_aux_input_to_forget_weights): has a value, expected none as input 39 "
          "(aux_input) has none");
  refuses(40, none, "input 40 (fw_aux_input_to_input_weights): has no value");
  refuses(44, none, "input 44 (bw_aux_input_to_input_weights): has no value, expected one");
  refuses(46, none,
          "input 46 (bw_aux_input_to_cell_weights): has no value, expected one as input 41 "
          "(fw_aux_input_to_forget_weights) has one");
  refuses(58, none, "input 57 (bw_input_layer_norm_weights): has a value, expected none");
  refuses(56, none, "input 56 (fw_output_layer_norm_weights): has no value");
  refuses(0, f({3, 2}), "input 0 (input): has rank 2 [3,2], expected rank 3");
  refuses(19, f({6, 4}), "input 19 (bw_input_to_forget_weights): has shape [6,4], expected [6,3]");
  refuses(33, f({5, 6}), "input 33 (bw_projection_weights): has shape [5,6], expected [7,6]");
  refuses(37, f({2, 5}), "input 37 (bw_output_state_in): has shape [2,5], expected [2,7]");
  refuses(39, f({2, 3, 2}), "input 39 (aux_input): has shape [2,3,2], expected [3,2,1 or more]");
  refuses(47, f({6, 3}),
          "input 47 (bw_aux_input_to_output_weights): has shape [6,3], expected [6,2]");
  refuses(60, f({4}), "input 60 (bw_output_layer_norm_weights): has shape [4], expected [6]");
  refuses(51, TestOperand::boolean(true),
          "has 2 outputs, expected 1 or 5 as merge_outputs is true");
  refuses(49, TestOperand::float32(-2), "input 49 (cell_clip) is -2");
  c.linking = 1;
  refuses(19, f({6, 3}), "input 19 (bw_input_to_forget_weights): has shape [6,3], expected [6,2]");
  c.linking = 0;
  refuses(41, f({4, 2}), "input 41 (fw_aux_input_to_forget_weights): has a value, expected none");
  c.parts[0].inputGate = false;
  refuses(53, f({4}),
          "input 53 (fw_input_layer_norm_weights): has a value, expected none as input 1 "
          "(fw_input_to_input_weights) has none");
}

}  // namespace
}  // namespace halyard::ops::testing

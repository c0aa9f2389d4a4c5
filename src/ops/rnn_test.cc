// Tests of RNN and its sequence forms against the cell in plain loops over real numbers, and of
// their errors.
#include <gtest/gtest.h>

#include "ops/recurrent_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

constexpr double kRnnSlack = 2e-5;

struct NaiveRnn {
  Reals weights, recurrent, bias, aux;
  int code;

  void step(const Reals& x, const Reals& auxiliary, Reals& hidden) const {
    Reals sums = bias;
    addProduct(weights, x, sums);
    addProduct(recurrent, hidden, sums);
    addProduct(aux, auxiliary, sums);
    for (double& sum : sums) sum = recurrentActivation(code, sum);
    hidden = sums;
  }
};

// Runs one direction. Results go to columns [offset, ...) of rows of `out`, and the last state to
// the end of `finals`.
void runNaive(const NaiveRnn& cell, const StepView& view, bool backward, const Reals& x,
              const Reals& aux, size_t auxSize, const Reals& state, size_t offset,
              const StepView& outView, Reals& out, Reals& finals) {
  const size_t units = cell.bias.size();
  for (size_t b = 0; b < view.batch; ++b) {
    Reals hidden(state.begin() + static_cast<ptrdiff_t>(b * units),
                 state.begin() + static_cast<ptrdiff_t>((b + 1) * units));
    for (size_t s = 0; s < view.steps; ++s) {
      const size_t t = backward ? view.steps - 1 - s : s;
      StepView auxView = view;
      auxView.size = auxSize;
      cell.step(view.row(x, t, b), cell.aux.empty() ? Reals{0} : auxView.row(aux, t, b), hidden);
      std::copy(hidden.begin(), hidden.end(),
                out.begin() + static_cast<ptrdiff_t>(outView.at(t, b) + offset));
    }
    finals.insert(finals.end(), hidden.begin(), hidden.end());
  }
}

uint32_t sizeUpTo(RandomOperands& random, int largest) {
  return static_cast<uint32_t>(random.between(1, largest));
}

TEST(Rnn, AgreesWithDefinition) {
  RandomOperands random(211);
  for (int round = 0; round < 120; ++round) {
    const OperandType type = round % 3 == 0 ? TENSOR_FLOAT16 : TENSOR_FLOAT32;
    const uint32_t batch = round % 20 == 0 ? 70 : sizeUpTo(random, 9);
    const uint32_t inputs = sizeUpTo(random, 40);
    const uint32_t units = sizeUpTo(random, 20);
    std::vector<TestOperand> in = {
        random.tensor(type, {batch, inputs}), random.tensor(type, {units, inputs}),
        random.tensor(type, {units, units}),  random.tensor(type, {units}),
        random.tensor(type, {batch, units}),  TestOperand::int32(random.oneOf({0, 1, 2, 3, 4, 6}))};
    std::vector<TestOperand> out(2, TestOperand::output(type));
    const Status status = runOperation(OperationType::RNN, in, out);
    ASSERT_TRUE(status.ok()) << status.toString();
    const NaiveRnn cell = {
        realsOf(in[1]), realsOf(in[2]), realsOf(in[3]), {}, in[5].values<int32_t>()[0]};
    const StepView view = {1, batch, inputs, true};
    Reals expected(batch * units);
    Reals finals;
    runNaive(cell, view, false, realsOf(in[0]), {}, 1, realsOf(in[4]), 0, {1, batch, units, true},
             expected, finals);
    for (const TestOperand& result : out) {
      EXPECT_EQ(result.tensor.dims, (Shape{batch, units}));
      expectReals(result, expected, fmt::format("round {}", round), kRnnSlack);
    }
    if (HasFatalFailure()) return;
  }
}

TEST(UnidirectionalSequenceRnn, AgreesWithDefinition) {
  RandomOperands random(212);
  for (int round = 0; round < 80; ++round) {
    const OperandType type = round % 3 == 0 ? TENSOR_FLOAT16 : TENSOR_FLOAT32;
    const bool timeMajor = random.coin();
    const uint32_t steps = sizeUpTo(random, round % 10 == 0 ? 60 : 6);
    const uint32_t batch = sizeUpTo(random, 6);
    const uint32_t inputs = sizeUpTo(random, 10);
    const uint32_t units = sizeUpTo(random, 10);
    const auto leading = [&](uint32_t size) {
      return timeMajor ? Shape{steps, batch, size} : Shape{batch, steps, size};
    };
    std::vector<TestOperand> in = {
        random.tensor(type, leading(inputs)),
        random.tensor(type, {units, inputs}),
        random.tensor(type, {units, units}),
        random.tensor(type, {units}),
        random.tensor(type,
                      {batch, units}),  // The sigmoid does not let errors grow over many steps.
        TestOperand::int32(steps > 6 ? 6 : random.oneOf({4, 6})),
        TestOperand::int32(timeMajor)};
    std::vector<TestOperand> out(random.coin() ? 2 : 1, TestOperand::output(type));
    const Status status = runOperation(OperationType::UNIDIRECTIONAL_SEQUENCE_RNN, in, out);
    ASSERT_TRUE(status.ok()) << status.toString();
    const NaiveRnn cell = {
        realsOf(in[1]), realsOf(in[2]), realsOf(in[3]), {}, in[5].values<int32_t>()[0]};
    Reals expected(size_t{steps} * batch * units);
    Reals finals;
    runNaive(cell, {steps, batch, inputs, timeMajor}, false, realsOf(in[0]), {}, 1, realsOf(in[4]),
             0, {steps, batch, units, timeMajor}, expected, finals);
    const std::string what = fmt::format("round {}", round);
    EXPECT_EQ(out[0].tensor.dims, leading(units));
    expectReals(out[0], expected, what, kRnnSlack);
    if (out.size() > 1) {
      EXPECT_EQ(out[1].tensor.dims, (Shape{batch, units}));
      expectReals(out[1], finals, what, kRnnSlack);
    }
    if (HasFatalFailure()) return;
  }
}

struct BidirectionalCase {
  uint32_t steps = 3, batch = 2, inputs = 4, aux = 5, forward = 3, backward = 2;
  int linking = 0;  // 0 none, 1 parallel, 2 cross
  bool timeMajor = true, merged = false, states = true;
  int code = 4;

  Shape leading(uint32_t size) const {
    return timeMajor ? Shape{steps, batch, size} : Shape{batch, steps, size};
  }
  std::vector<TestOperand> inputsOf(RandomOperands& random, OperandType type) const {
    const TestOperand none = TestOperand::omitted(type);
    const bool cross = linking == 2;
    return {random.tensor(type, leading(inputs)),
            random.tensor(type, {forward, inputs}),
            random.tensor(type, {forward, forward}),
            random.tensor(type, {forward}),
            random.tensor(type, {batch, forward}),
            random.tensor(type, {backward, linking == 1 ? aux : inputs}),
            random.tensor(type, {backward, backward}),
            random.tensor(type, {backward}),
            random.tensor(type, {batch, backward}),
            linking == 0 ? none : random.tensor(type, leading(aux)),
            cross ? random.tensor(type, {forward, aux}) : none,
            cross ? random.tensor(type, {backward, aux}) : none,
            TestOperand::int32(code),
            TestOperand::boolean(timeMajor),
            TestOperand::boolean(merged)};
  }
  std::vector<TestOperand> outputsOf(OperandType type) const {
    const size_t count = (merged ? 1 : 2) + (states ? 2 : 0);
    return std::vector<TestOperand>(count, TestOperand::output(type));
  }
};

void checkBidirectional(RandomOperands& random, const BidirectionalCase& c, OperandType type,
                        const std::string& what) {
  std::vector<TestOperand> in = c.inputsOf(random, type);
  std::vector<TestOperand> out = c.outputsOf(type);
  const Status status = runOperation(OperationType::BIDIRECTIONAL_SEQUENCE_RNN, in, out);
  ASSERT_TRUE(status.ok()) << status.toString();
  const uint32_t width = c.merged ? c.forward + c.backward : c.forward;
  std::vector<Reals> expected = {Reals(size_t{c.steps} * c.batch * width)};
  if (!c.merged) expected.emplace_back(size_t{c.steps} * c.batch * c.backward);
  std::vector<Reals> finals(2);
  for (const bool backward : {false, true}) {
    const size_t first = backward ? 5 : 1;
    const NaiveRnn cell = {realsOf(in[first]), realsOf(in[first + 1]), realsOf(in[first + 2]),
                           realsOf(in[backward ? 11 : 10]), c.code};
    const bool seesAux = backward && c.linking == 1;
    const uint32_t size = c.merged ? width : (backward ? c.backward : c.forward);
    runNaive(cell, {c.steps, c.batch, seesAux ? c.aux : c.inputs, c.timeMajor}, backward,
             realsOf(in[seesAux ? 9 : 0]), realsOf(in[9]), c.aux, realsOf(in[first + 3]),
             c.merged && backward ? c.forward : 0, {c.steps, c.batch, size, c.timeMajor},
             expected[!c.merged && backward ? 1 : 0], finals[backward ? 1 : 0]);
  }
  EXPECT_EQ(out[0].tensor.dims, c.leading(width)) << what;
  if (c.states) expected.insert(expected.end(), finals.begin(), finals.end());
  ASSERT_EQ(out.size(), expected.size());
  for (size_t i = 0; i < out.size(); ++i) {
    expectReals(out[i], expected[i], fmt::format("{}, output {}", what, i), kRnnSlack);
  }
}

TEST(BidirectionalSequenceRnn, AgreesWithDefinition) {
  RandomOperands random(213);
  for (int round = 0; round < 144; ++round) {
    BidirectionalCase c;
    c.linking = round % 3;
    c.timeMajor = round / 3 % 2 == 0;
    c.merged = round / 6 % 2 == 0;
    c.states = round / 12 % 2 == 0;
    for (uint32_t* size : {&c.steps, &c.batch, &c.inputs, &c.aux, &c.forward, &c.backward}) {
      *size = sizeUpTo(random, 6);
    }
    c.code = random.oneOf({4, 6});
    checkBidirectional(random, c, round / 24 % 2 == 0 ? TENSOR_FLOAT32 : TENSOR_FLOAT16,
                       fmt::format("round {}, linking {}", round, c.linking));
    if (HasFatalFailure()) return;
  }
}

TEST(RecurrentNetworks, FeatureLevels) {
  EXPECT_EQ(recurrentLevel(OperationType::RNN, 0, 6, 2), 1);
  EXPECT_EQ(recurrentLevel(OperationType::RNN, 1, 6, 2), 3);
  EXPECT_EQ(recurrentLevel(OperationType::RNN, 0, 6, 1), 0);
  EXPECT_EQ(recurrentLevel(OperationType::UNIDIRECTIONAL_SEQUENCE_RNN, 0, 7, 1), 3);
  EXPECT_EQ(recurrentLevel(OperationType::UNIDIRECTIONAL_SEQUENCE_RNN, 1, 7, 2), 4);
  const auto both = [](size_t outputs, const std::set<size_t>& omitted) {
    return recurrentLevel(OperationType::BIDIRECTIONAL_SEQUENCE_RNN, 0, 15, outputs, omitted);
  };
  EXPECT_EQ(both(1, {}), 3);
  EXPECT_EQ(both(2, {9, 10, 11}), 3);
  EXPECT_EQ(both(3, {}), 4);
  EXPECT_EQ(both(4, {}), 4);
  EXPECT_EQ(both(1, {10, 11}), 4);  // parallel linking
  EXPECT_EQ(both(1, {11}), 3);      // an error that only the execution can find
}

TEST(RecurrentNetworks, Refuse) {
  RandomOperands random(214);
  const auto f = [&](const Shape& dims) { return random.tensor(TENSOR_FLOAT32, dims); };
  const std::vector<TestOperand> two(2, TestOperand::output(TENSOR_FLOAT32));
  const std::vector<TestOperand> step = {f({2, 3}), f({4, 3}), f({4, 4}),
                                         f({4}),    f({2, 4}), TestOperand::int32(4)};
  const auto refuse = [&](OperationType type, std::vector<TestOperand> inputs, size_t i,
                          const TestOperand& wrong, const std::string& text) {
    inputs[i] = wrong;
    expectFailure(type, inputs, two, text);
  };
  using enum OperationType;
  refuse(RNN, step, 0, f({2, 3, 1}), "input 0 (input): has rank 3 [2,3,1], expected rank 2");
  refuse(RNN, step, 1, f({4, 2}), "input 1 (weights): has shape [4,2], expected [1 or more,3]");
  refuse(RNN, step, 2, f({4, 5}), "input 2 (recurrent_weights): has shape [4,5], expected [4,4]");
  refuse(RNN, step, 3, f({5}), "input 3 (bias): has shape [5], expected [4]");
  refuse(RNN, step, 4, f({3, 4}), "input 4 (hidden_state_in): has shape [3,4], expected [2,4]");
  for (const int code : {-1, 5, 7}) {
    refuse(RNN, step, 5, TestOperand::int32(code), fmt::format("input 5 (activation) is {}", code));
  }
  refuse(RNN, step, 3, TestOperand::omitted(TENSOR_FLOAT32), "input 3 (bias) has no value");
  refuse(RNN, step, 0, f({0, 3}), "zero-sized");

  std::vector<TestOperand> sequence = step;
  sequence[0] = f({2, 5, 3});
  sequence.push_back(TestOperand::int32(0));
  refuse(UNIDIRECTIONAL_SEQUENCE_RNN, sequence, 6, TestOperand::int32(2), "(time_major) is 2");
  refuse(UNIDIRECTIONAL_SEQUENCE_RNN, sequence, 6, TestOperand::int32(1),
         "input 4 (hidden_state_in): has shape [2,4], expected [5,4]");

  BidirectionalCase c;
  c.linking = 2;
  c.states = false;
  std::vector<TestOperand> cross = c.inputsOf(random, TENSOR_FLOAT32);
  const TestOperand none = TestOperand::omitted(TENSOR_FLOAT32);
  refuse(BIDIRECTIONAL_SEQUENCE_RNN, cross, 9, none,
         "input 10 (fw_aux_weights): has a value, expected none as input 9 (aux_input) has none");
  refuse(BIDIRECTIONAL_SEQUENCE_RNN, cross, 10, none,
         "input 11 (bw_aux_weights): has a value, expected none as input 10 (fw_aux_weights) has");
  refuse(BIDIRECTIONAL_SEQUENCE_RNN, cross, 11, none,
         "input 11 (bw_aux_weights): has no value, expected one as input 10 (fw_aux_weights) has");
  refuse(BIDIRECTIONAL_SEQUENCE_RNN, cross, 9, f({3, 1, 5}),
         "input 9 (aux_input): has shape [3,1,5], expected [3,2,1 or more]");
  refuse(BIDIRECTIONAL_SEQUENCE_RNN, cross, 14, TestOperand::boolean(true),
         "has 2 outputs, expected 1 or 3 as merge_outputs is true");
  c.linking = 1;
  cross = c.inputsOf(random, TENSOR_FLOAT32);
  refuse(BIDIRECTIONAL_SEQUENCE_RNN, cross, 5, f({2, 4}),
         "input 9 (aux_input): has shape [3,2,5], expected [3,2,4]");
}

}  // namespace
}  // namespace halyard::ops::testing

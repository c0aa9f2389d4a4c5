// Tests of SVDF against its definition over real numbers, and of its errors.
#include <gtest/gtest.h>

#include "ops/recurrent_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

struct SvdfCase {
  uint32_t batch = 2, inputs = 3, units = 4, rank = 2, memory = 5;
  bool bias = true;
  int code = 0;

  std::vector<TestOperand> inputsOf(RandomOperands& random, OperandType type) const {
    const uint32_t filters = units * rank;
    return {random.tensor(type, {batch, inputs}),
            random.tensor(type, {filters, inputs}),
            random.tensor(type, {filters, memory}),
            bias ? random.tensor(type, {units}) : TestOperand::omitted(type),
            random.tensor(type, {batch, memory * filters}),
            TestOperand::int32(static_cast<int>(rank)),
            TestOperand::int32(code)};
  }
};

TEST(Svdf, AgreesWithDefinition) {
  RandomOperands random(221);
  for (int round = 0; round < 120; ++round) {
    SvdfCase c;
    const auto sizeUpTo = [&](int most) { return static_cast<uint32_t>(random.between(1, most)); };
    c = {sizeUpTo(9),
         sizeUpTo(20),
         sizeUpTo(7),
         sizeUpTo(4),
         sizeUpTo(8),
         random.coin(),
         random.oneOf({0, 1, 2, 3, 4, 6})};
    const OperandType type = round % 3 == 0 ? TENSOR_FLOAT16 : TENSOR_FLOAT32;
    std::vector<TestOperand> in = c.inputsOf(random, type);
    std::vector<TestOperand> out(2, TestOperand::output(type));
    const Status status = runOperation(OperationType::SVDF, in, out);
    ASSERT_TRUE(status.ok()) << status.toString();

    const size_t filters = size_t{c.units} * c.rank;
    Reals state = realsOf(in[4]);
    const Reals x = realsOf(in[0]);
    const Reals feature = realsOf(in[1]);
    const Reals time = realsOf(in[2]);
    Reals y;
    for (size_t b = 0; b < c.batch; ++b) {
      Reals sums = c.bias ? realsOf(in[3]) : Reals(c.units, 0);
      for (size_t f = 0; f < filters; ++f) {
        double* slots = &state[(b * filters + f) * c.memory];
        slots[c.memory - 1] = 0;
        for (size_t i = 0; i < c.inputs; ++i) {
          slots[c.memory - 1] += x[b * c.inputs + i] * feature[f * c.inputs + i];
        }
        for (size_t m = 0; m < c.memory; ++m) sums[f / c.rank] += slots[m] * time[f * c.memory + m];
        std::rotate(slots, slots + 1, slots + c.memory);
        slots[c.memory - 1] = 0;
      }
      for (double sum : sums) y.push_back(recurrentActivation(c.code, sum));
    }
    const std::string what = fmt::format("round {}", round);
    EXPECT_EQ(out[0].tensor.dims, in[4].tensor.dims);
    EXPECT_EQ(out[1].tensor.dims, (Shape{c.batch, c.units}));
    expectReals(out[0], state, what, 1e-5);
    expectReals(out[1], y, what, 1e-5);
    if (HasFatalFailure()) return;
  }
}

TEST(Svdf, FeatureLevels) {
  EXPECT_EQ(recurrentLevel(OperationType::SVDF, 0, 7, 2), 1);
  EXPECT_EQ(recurrentLevel(OperationType::SVDF, 0, 7, 2, {3}), 1);
  EXPECT_EQ(recurrentLevel(OperationType::SVDF, 1, 7, 2), 3);
}

TEST(Svdf, Refuses) {
  RandomOperands random(222);
  const auto refuses = [&](size_t i, const TestOperand& wrong, const std::string& text) {
    std::vector<TestOperand> inputs = SvdfCase().inputsOf(random, TENSOR_FLOAT32);
    inputs[i] = wrong;
    expectFailure(OperationType::SVDF, inputs, {2, TestOperand::output(TENSOR_FLOAT32)}, text);
  };
  const auto f = [&](const Shape& dims) { return random.tensor(TENSOR_FLOAT32, dims); };
  refuses(1, f({8, 4}), "input 1 (weights_feature): has shape [8,4], expected [1 or more,3]");
  refuses(1, f({8}), "input 1 (weights_feature): has rank 1 [8], expected rank 2");
  refuses(2, f({6, 5}), "input 2 (weights_time): has shape [6,5], expected [8,1 or more]");
  refuses(3, f({8}), "input 3 (bias): has shape [8], expected [4]");
  refuses(4, f({2, 32}), "input 4 (state_in): has shape [2,32], expected [2,40]");
  for (const int rank : {0, -2, 3, 16, std::numeric_limits<int>::min()}) {
    refuses(5, TestOperand::int32(rank), fmt::format("input 5 (rank) is {}", rank));
  }
  refuses(6, TestOperand::int32(5), "input 6 (activation) is 5");
  refuses(4, TestOperand::omitted(TENSOR_FLOAT32), "input 4 (state_in) has no value");
}

}  // namespace
}  // namespace halyard::ops::testing

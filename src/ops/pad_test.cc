// PAD against element-wise copying by coordinates.
#include <gtest/gtest.h>

#include <limits>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TestOperand paddingsOf(const std::vector<int32_t>& values) {
  return TestOperand::of<int32_t>(TENSOR_INT32, {static_cast<uint32_t>(values.size() / 2), 2},
                                  values);
}

TEST(Pad, AgreesWithDefinition) {
  RandomOperands random(61);
  for (int round = 0; round < 60; ++round) {
    for (OperandType type :
         {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      const TestOperand x = random.tensor(type, randomShape(random, 1, 4, 4));
      std::vector<int32_t> paddings;
      Shape shape;
      for (uint32_t d : x.tensor.dims) {
        const bool some = random.coin();
        paddings.push_back(some ? random.between(0, 3) : 0);
        paddings.push_back(some ? random.between(0, 3) : 0);
        shape.push_back(d + static_cast<uint32_t>(paddings.rbegin()[0] + paddings.rbegin()[1]));
      }
      const std::vector<double> from = realValues(x);
      std::vector<double> expected(elementsOf(shape), 0);
      for (size_t i = 0; i < from.size(); ++i) {
        std::vector<size_t> at = coordinatesOf(i, x.tensor.dims);
        for (size_t d = 0; d < at.size(); ++d) at[d] += static_cast<size_t>(paddings[2 * d]);
        expected[indexOf(at, shape)] = from[i];
      }
      std::vector<TestOperand> inputs = {x, paddingsOf(paddings)};
      std::vector<TestOperand> outputs = {outputLike(x)};
      const Status status = runOperation(OperationType::PAD, inputs, outputs);
      ASSERT_TRUE(status.ok()) << status.toString();
      EXPECT_EQ(outputs[0].tensor.dims, shape);
      EXPECT_EQ(realValues(outputs[0]), expected)
          << operandTypeName(type) << " " << fmt::format("{}", fmt::join(paddings, ","));
    }
  }
}

TEST(Pad, Refuses) {
  RandomOperands random(62);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 3});
  const auto refuses = [&](const TestOperand& paddings, const std::string& text) {
    expectFailure(OperationType::PAD, {x, paddings}, {outputLike(x)}, text);
  };
  refuses(paddingsOf({1, 1}), "the shape of paddings is [1,2], expected [2,2]");
  refuses(intList({1, 1, 1, 1}), "the shape of paddings is [4]");
  refuses(TestOperand::of<int32_t>(TENSOR_INT32, {0, 2}, {}), "the shape of paddings is [0,2]");
  refuses(paddingsOf({0, 0, -1, 0}), "paddings of dimension 1 are -1 and 0");
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  refuses(paddingsOf({kMax, kMax, 0, 0}), "dimension 0 of the output would be 4294967296");
  refuses(paddingsOf({kMax, 0, kMax, 0}), "more than 4294967295 bytes");
  expectFailure(OperationType::PAD, {random.tensor(TENSOR_FLOAT32, {0}), paddingsOf({1, 1})},
                {outputLike(x)}, "zero-sized");
}

}  // namespace
}  // namespace halyard::ops::testing

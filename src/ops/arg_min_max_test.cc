// Tests of ARGMAX and ARGMIN against a search by coordinates, with ties and NaN.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/lines_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using enum OperationType;

TEST(ArgMinMax, AgreesWithSearch) {
  RandomOperands random(251);
  for (int round = 0; round < 40; ++round) {
    for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
                             TENSOR_QUANT8_ASYMM_SIGNED}) {
      const Shape dims = randomShape(random, 1, 5, 6);
      const TestOperand x = random.coin() && type != TENSOR_INT32 ? random.tensor(type, dims)
                                                                  : fewNumbers(random, type, dims);
      const RandomAxis axis = randomAxis(random, dims.size(), false);
      for (OperationType op : {ARGMAX, ARGMIN}) {
        // Fills each line with the position of its best element.
        const std::vector<double> best =
            mapLines(numbersOf(x), dims, axis.resolved, [&](const Line& line) {
              const auto found = op == ARGMAX ? std::max_element(line.begin(), line.end())
                                              : std::min_element(line.begin(), line.end());
              return Line(line.size(), static_cast<double>(found - line.begin()));
            });
        std::vector<int32_t> expected;
        for (size_t i = 0; i < best.size(); ++i) {
          if (coordinatesOf(i, dims)[axis.resolved] == 0) {
            expected.push_back(static_cast<int32_t>(best[i]));
          }
        }
        Shape shape = dims;
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis.resolved));
        if (shape.empty()) shape = {1};
        std::vector<TestOperand> inputs = {x, axis.operand[0]};
        std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_INT32)};
        const Status status = runOperation(op, inputs, outputs);
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(outputs[0].tensor.dims, shape);
        ASSERT_EQ(outputs[0].values<int32_t>(), expected)
            << operandTypeName(type) << " " << fmt::format("{}", fmt::join(dims, "x")) << " axis "
            << axis.resolved;
      }
    }
  }
}

TEST(ArgMinMax, TiesAndSpecialValues) {
  const auto search = [](OperationType op, const std::vector<float>& x) {
    std::vector<TestOperand> inputs = {
        TestOperand::of<float>(TENSOR_FLOAT32, {static_cast<uint32_t>(x.size())}, x),
        TestOperand::int32(0)};
    std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_INT32)};
    EXPECT_TRUE(runOperation(op, inputs, outputs).ok());
    return outputs[0].values<int32_t>()[0];
  };
  EXPECT_EQ(search(ARGMAX, {1, 3, 2, 3}), 1);
  EXPECT_EQ(search(ARGMIN, {4, 3, 5, 3}), 1);
  EXPECT_EQ(search(ARGMAX, {-0.0f, 0.0f}), 0);
  EXPECT_EQ(search(ARGMIN, {0.0f, -0.0f}), 0);
  EXPECT_EQ(search(ARGMAX, {-kInfinity, kInfinity, kInfinity}), 1);
  EXPECT_EQ(search(ARGMAX, {kNan, 1, kNan, 2, kNan}), 3);
  EXPECT_EQ(search(ARGMIN, {kNan, kInfinity, kNan}), 1);
  EXPECT_EQ(search(ARGMAX, {kNan, kNan}), 0);
}

TEST(ArgMinMax, TypeLevels) {
  for (OperationType op : {ARGMAX, ARGMIN}) {
    expectTypeLevels(op, {{TENSOR_FLOAT32, 3},
                          {TENSOR_FLOAT16, 3},
                          {TENSOR_QUANT8_ASYMM, 3},
                          {TENSOR_QUANT8_ASYMM_SIGNED, 4},
                          {TENSOR_INT32, 3}});
  }
}

TEST(ArgMinMax, Refuses) {
  RandomOperands random(252);
  const TestOperand output = TestOperand::output(TENSOR_INT32);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 3});
  expectFailure(ARGMAX, {x, TestOperand::int32(2)}, {output},
                "axis is 2, expected -2 to 1 for a tensor of rank 2");
  expectFailure(ARGMIN, {x, TestOperand::int32(-3)}, {output}, "axis is -3");
  expectFailure(ARGMAX, {random.tensor(TENSOR_FLOAT32, {2, 0}), TestOperand::int32(0)}, {output},
                "zero-sized");
}

}  // namespace
}  // namespace halyard::ops::testing

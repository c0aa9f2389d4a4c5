// Tests of CONCATENATION against elementwise copying by coordinates.
#include <gtest/gtest.h>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

std::vector<double> naiveConcatenation(const std::vector<TestOperand>& parts, size_t axis,
                                       const Shape& shape) {
  std::vector<double> result;
  for (size_t i = 0; i < elementsOf(shape); ++i) {
    std::vector<size_t> at = coordinatesOf(i, shape);
    size_t part = 0;
    while (at[axis] >= parts[part].tensor.dims[axis]) at[axis] -= parts[part++].tensor.dims[axis];
    result.push_back(realValues(parts[part])[indexOf(at, parts[part].tensor.dims)]);
  }
  return result;
}

TEST(Concatenation, AgreesWithDefinition) {
  RandomOperands random(51);
  for (int round = 0; round < 30; ++round) {
    for (OperandType type :
         {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      Shape shape = randomShape(random, 1, 4, 4);
      const auto axis = static_cast<size_t>(random.between(0, static_cast<int>(shape.size()) - 1));
      std::vector<TestOperand> inputs;
      shape[axis] = 0;
      for (int part = random.between(1, 4); part > 0; --part) {
        Shape dims = shape;
        dims[axis] = static_cast<uint32_t>(random.between(part == 1 ? 1 : 0, 4));
        inputs.push_back(random.tensor(type, dims));
      }
      // Sometimes an input is quantised like the output, sometimes no input is.
      std::vector<TestOperand> outputs = {random.coin() ? outputLike(inputs[0])
                                                        : random.output(type, 2)};
      for (const TestOperand& input : inputs) shape[axis] += input.tensor.dims[axis];
      const std::vector<double> expected = naiveConcatenation(inputs, axis, shape);
      inputs.push_back(TestOperand::int32(static_cast<int32_t>(axis)));
      const Status status = runOperation(OperationType::CONCATENATION, inputs, outputs);
      ASSERT_TRUE(status.ok()) << status.toString();
      EXPECT_EQ(outputs[0].tensor.dims, shape);
      expectReals(outputs[0], expected, operandTypeName(type));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Concatenation, AllInputsZeroSized) {
  RandomOperands random(52);
  EXPECT_EQ(inferredShapes(OperationType::CONCATENATION,
                           {random.tensor(TENSOR_FLOAT32, {0, 2}),
                            random.tensor(TENSOR_FLOAT32, {0, 3}), TestOperand::int32(1)},
                           {TestOperand::output(TENSOR_FLOAT32)})[0],
            (Shape{0, 5}));
}

TEST(Concatenation, Refuses) {
  RandomOperands random(53);
  const TestOperand output = TestOperand::output(TENSOR_FLOAT32);
  const auto refuses = [&](const Shape& a, const Shape& b, int axis, const std::string& text) {
    expectFailure(OperationType::CONCATENATION,
                  {random.tensor(TENSOR_FLOAT32, a), random.tensor(TENSOR_FLOAT32, b),
                   TestOperand::int32(axis)},
                  {output}, text);
  };
  refuses({2, 3}, {3, 3}, 1, "input 1 [3,3] differs from input 0 [2,3] in more than axis 1");
  refuses({2, 3}, {2, 3, 1}, 0, "input 1 [2,3,1] differs");
  refuses({2, 3}, {2, 3}, 2, "axis is 2, expected 0 to 1");
  refuses({2, 3}, {2, 3}, -1, "axis is -1, expected 0 to 1");
  refuses({1, 1, 1, 1, 2}, {1, 1, 1, 1, 2}, 0, "rank 5");
}

TEST(Concatenation, RefusesAnAxisBeyond32Bits) {
  Tensor inputs[3];
  inputs[0].type = inputs[1].type = TENSOR_QUANT8_ASYMM;
  inputs[0].dims = inputs[1].dims = {1u << 31};
  int32_t axis = 0;
  inputs[2].type = INT32;
  inputs[2].data = &axis;
  Tensor output;
  output.type = TENSOR_QUANT8_ASYMM;
  OperationContext context(inputs, std::span(&output, 1), nullptr);
  const Status status = inferShapes(*definitionOf(OperationType::CONCATENATION), context);
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("4294967296"));
}

}  // namespace
}  // namespace halyard::ops::testing

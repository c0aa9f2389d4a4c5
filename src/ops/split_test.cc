// Tests of SPLIT and PACK against their mappings of coordinates.
#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(Split, AgreesWithDefinition) {
  RandomOperands random(231);
  for (int round = 0; round < 20; ++round) {
    for (OperandType type : kFloatInt32AndQuant8) {
      Shape shape = randomShape(random, 1, 6, 3);
      const int rank = static_cast<int>(shape.size());
      const int axis = random.between(-rank, rank - 1);
      const auto d = static_cast<size_t>(axis < 0 ? axis + rank : axis);
      const uint32_t part = shape[d];
      const auto splits = static_cast<uint32_t>(random.between(1, 4));
      shape[d] *= splits;
      const TestOperand x = anyTensor(random, type, shape);
      shape[d] = part;
      std::vector<TestOperand> inputs = {x, TestOperand::int32(axis),
                                         TestOperand::int32(static_cast<int32_t>(splits))};
      std::vector<TestOperand> outputs(splits, outputLike(x));
      const Status status = runOperation(OperationType::SPLIT, inputs, outputs);
      ASSERT_TRUE(status.ok()) << status.toString();
      for (size_t i = 0; i < splits; ++i) {
        const TestOperand expected = moved(x, shape, [&](Coordinates at) -> MaybeCoordinates {
          at[d] += i * part;
          return at;
        });
        EXPECT_EQ(outputs[i].tensor.dims, shape);
        ASSERT_EQ(outputs[i].bytes, expected.bytes) << operandTypeName(type) << " axis " << axis;
      }
    }
  }
}

TEST(Split, Refuses) {
  RandomOperands random(232);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {4, 6});
  const auto refuses = [&](int axis, int splits, size_t outputs, const std::string& text) {
    expectFailure(OperationType::SPLIT, {x, TestOperand::int32(axis), TestOperand::int32(splits)},
                  std::vector<TestOperand>(outputs, outputLike(x)), text);
  };
  refuses(2, 2, 2, "axis is 2, expected -2 to 1");
  refuses(-3, 2, 2, "axis is -3");
  refuses(kIntMin, 2, 2, "axis is -2147483648");
  refuses(0, 0, 1, "number of splits is 0, expected 1 or more");
  refuses(0, kIntMin, 1, "number of splits is -2147483648");
  refuses(0, 2, 3, "number of splits is 2, expected that of the outputs, 3");
  refuses(1, 4, 4, "dimension 1 of the input [4,6] does not split into 4 equal parts");
  refuses(0, 8, 8, "does not split into 8 equal parts");
  const TestOperand two = TestOperand::int32(2);
  expectChecksOutputScale(OperationType::SPLIT, {x, TestOperand::int32(1), two}, x, 2);
  const std::vector<TestOperand> outputs(2, outputLike(x));
  for (const auto& [axis, splits] : {std::pair{unknownValue(INT32), two},
                                     std::pair{TestOperand::int32(0), unknownValue(INT32)}}) {
    EXPECT_EQ(inferenceOf(OperationType::SPLIT, {x, axis, splits}, outputs).code(),
              ResultCode::INCOMPLETE);
  }
}

TEST(Pack, AgreesWithDefinition) {
  RandomOperands random(233);
  for (int round = 0; round < 20; ++round) {
    for (OperandType type : kFloatInt32AndQuant8) {
      Shape shape = randomShape(random, 1, 6, 3);
      const int axis = random.between(0, static_cast<int>(shape.size()));
      const auto d = static_cast<size_t>(axis);
      const auto count = static_cast<uint32_t>(random.between(1, 5));
      // All inputs are consecutive in a tensor of rank R + 1.
      Shape stacked = shape;
      stacked.insert(stacked.begin(), count);
      const TestOperand all = anyTensor(random, type, stacked);
      std::vector<TestOperand> inputs = {TestOperand::int32(axis)};
      for (size_t i = 0; i < count; ++i) {
        inputs.push_back(moved(all, shape, [&](Coordinates at) -> MaybeCoordinates {
          at.insert(at.begin(), i);
          return at;
        }));
      }
      shape.insert(shape.begin() + axis, count);
      const TestOperand expected = moved(all, shape, [&](Coordinates at) -> MaybeCoordinates {
        const size_t i = at[d];
        at.erase(at.begin() + axis);
        at.insert(at.begin(), i);
        return at;
      });
      expectResult(OperationType::PACK, inputs, expected, fmt::format("axis {}", axis));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Pack, Refuses) {
  RandomOperands random(234);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {2, 3});
  const auto refuses = [&](int axis, const TestOperand& second, const std::string& text) {
    expectFailure(OperationType::PACK, {TestOperand::int32(axis), x, second}, {outputLike(x)},
                  text);
  };
  refuses(3, x, "axis is 3, expected 0 to 2");
  refuses(-1, x, "axis is -1");
  refuses(kIntMin, x, "axis is -2147483648");
  TestOperand other = x;
  other.tensor.dims = {3, 2};
  refuses(0, other, "input 2 is [3,2], expected the dimensions of input 1, [2,3]");
  other.tensor.dims = {1, 2, 3};
  refuses(0, other, "input 2 is [1,2,3]");
  other = x;
  other.tensor.scale *= 2;
  refuses(0, other, "input 2: output has scale");
  expectFailure(OperationType::PACK, {TestOperand::int32(0)}, {outputLike(x)},
                "there is no tensor to pack");
  expectChecksOutputScale(OperationType::PACK, {TestOperand::int32(2), x, x}, x);
  EXPECT_EQ(inferenceOf(OperationType::PACK, {unknownValue(INT32), x}, {outputLike(x)}).code(),
            ResultCode::INCOMPLETE);
}

}  // namespace
}  // namespace halyard::ops::testing

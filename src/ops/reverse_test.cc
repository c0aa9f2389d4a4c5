// Tests of REVERSE and CHANNEL_SHUFFLE against their mappings of coordinates.
#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(Reverse, AgreesWithDefinition) {
  RandomOperands random(251);
  for (int round = 0; round < 20; ++round) {
    for (OperandType type : kFloatInt32AndQuant8) {
      const Shape shape = randomShape(random, 1, 8, 3);
      const TestOperand x = anyTensor(random, type, shape);
      const int axis = random.between(0, static_cast<int>(shape.size()) - 1);
      const TestOperand expected = moved(x, shape, [&](Coordinates at) -> MaybeCoordinates {
        size_t& j = at[static_cast<size_t>(axis)];
        j = shape[static_cast<size_t>(axis)] - 1 - j;
        return at;
      });
      expectResult(OperationType::REVERSE, {x, intList({axis})}, expected);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Reverse, Refuses) {
  RandomOperands random(252);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {2, 4});
  const auto refuses = [&](const TestOperand& axis, const std::string& text) {
    expectFailure(OperationType::REVERSE, {x, axis}, {outputLike(x)}, text);
  };
  refuses(intList({2}), "axis is 2, expected 0 to 1");
  refuses(intList({-1}), "axis is -1, expected 0 to 1");
  refuses(intList({kIntMin}), "axis is -2147483648");
  refuses(intList({0, 1}), "the shape of axis is [2], expected [1]");
  refuses(intList({}), "the shape of axis is [0], expected [1]");
  const TestOperand deep = random.tensor(TENSOR_FLOAT32, Shape(9, 1));
  expectFailure(OperationType::REVERSE, {deep, intList({0})}, {outputLike(deep)},
                "input has rank 9 [1,1,1,1,1,1,1,1,1], expected rank 1 to 8");
  expectChecksOutputScale(OperationType::REVERSE, {x, intList({0})}, x);
  // The shape does not depend on the axis.
  EXPECT_TRUE(
      inferenceOf(OperationType::REVERSE, {x, unknownValue(TENSOR_INT32, {1})}, {outputLike(x)})
          .ok());
}

TEST(ChannelShuffle, AgreesWithDefinition) {
  RandomOperands random(253);
  for (int round = 0; round < 30; ++round) {
    for (OperandType type : kFloatAndQuant8) {
      Shape shape = randomShape(random, 1, 4, 4);
      const int rank = static_cast<int>(shape.size());
      const int axis = random.between(-rank, rank - 1);
      const auto d = static_cast<size_t>(axis < 0 ? axis + rank : axis);
      const auto groups = static_cast<uint32_t>(random.between(1, 4));
      const uint32_t members = shape[d];
      shape[d] *= groups;
      const TestOperand x = random.tensor(type, shape);
      const TestOperand expected = moved(x, shape, [&](Coordinates at) -> MaybeCoordinates {
        at[d] = at[d] % groups * members + at[d] / groups;
        return at;
      });
      expectResult(OperationType::CHANNEL_SHUFFLE,
                   {x, TestOperand::int32(static_cast<int32_t>(groups)), TestOperand::int32(axis)},
                   expected, fmt::format("{} groups on axis {}", groups, axis));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ChannelShuffle, ByHand) {
  const auto x = TestOperand::of<float>(TENSOR_FLOAT32, {6}, {1, 2, 3, 4, 5, 6});
  expectResult(OperationType::CHANNEL_SHUFFLE, {x, TestOperand::int32(2), TestOperand::int32(0)},
               TestOperand::of<float>(TENSOR_FLOAT32, {6}, {1, 4, 2, 5, 3, 6}));
}

TEST(ChannelShuffle, Refuses) {
  RandomOperands random(254);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {2, 6});
  const auto refuses = [&](int groups, int axis, const std::string& text) {
    expectFailure(OperationType::CHANNEL_SHUFFLE,
                  {x, TestOperand::int32(groups), TestOperand::int32(axis)}, {outputLike(x)}, text);
  };
  refuses(0, 1, "number of groups is 0, expected 1 or more");
  refuses(kIntMin, 1, "number of groups is -2147483648");
  refuses(4, 1, "dimension 1 of the input [2,6] does not split into 4 equal groups");
  refuses(kIntMax, 1, "does not split");
  refuses(2, 2, "axis is 2, expected -2 to 1");
  refuses(2, kIntMin, "axis is -2147483648");
  const TestOperand deep = random.tensor(TENSOR_FLOAT32, {1, 1, 1, 1, 2});
  expectFailure(OperationType::CHANNEL_SHUFFLE,
                {deep, TestOperand::int32(2), TestOperand::int32(4)}, {outputLike(deep)}, "rank 5");
  expectChecksOutputScale(OperationType::CHANNEL_SHUFFLE,
                          {x, TestOperand::int32(3), TestOperand::int32(1)}, x);
  EXPECT_TRUE(inferenceOf(OperationType::CHANNEL_SHUFFLE,
                          {x, unknownValue(INT32), unknownValue(INT32)}, {outputLike(x)})
                  .ok());
}

}  // namespace
}  // namespace halyard::ops::testing

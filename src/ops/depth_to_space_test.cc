// Tests of DEPTH_TO_SPACE and SPACE_TO_DEPTH against their mappings of coordinates, in both
// layouts.
#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

void expectInBothLayouts(OperationType op, const TestOperand& x, int block,
                         const TestOperand& expected) {
  const TestOperand size = TestOperand::int32(block);
  expectResult(op, {x, size}, expected, "default layout");
  expectResult(op, {x, size, TestOperand::boolean(false)}, expected, "NHWC");
  expectResult(op, {toNchw(x), size, TestOperand::boolean(true)}, toNchw(expected), "NCHW");
}

TEST(DepthToSpace, AgreesWithDefinition) {
  RandomOperands random(201);
  for (int round = 0; round < 20; ++round) {
    for (OperandType type : kFloatAndQuant8) {
      Shape deep = randomShape(random, 4, 4, 4);
      const auto block = static_cast<uint32_t>(random.between(1, 3));
      const uint32_t depth = deep[3];
      deep[3] *= block * block;
      const TestOperand x = random.tensor(type, deep);
      const Shape wide = {deep[0], deep[1] * block, deep[2] * block, depth};
      const TestOperand expected = moved(x, wide, [&](const Coordinates& at) -> MaybeCoordinates {
        const size_t place = at[1] % block * block + at[2] % block;
        return Coordinates{at[0], at[1] / block, at[2] / block, place * depth + at[3]};
      });
      expectInBothLayouts(OperationType::DEPTH_TO_SPACE, x, static_cast<int>(block), expected);
      // The opposite direction.
      expectInBothLayouts(OperationType::SPACE_TO_DEPTH, expected, static_cast<int>(block), x);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(DepthToSpace, ByHand) {
  const auto x = TestOperand::of<float>(TENSOR_FLOAT32, {1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto y = TestOperand::of<float>(TENSOR_FLOAT32, {1, 2, 4, 1}, {1, 2, 5, 6, 3, 4, 7, 8});
  expectInBothLayouts(OperationType::DEPTH_TO_SPACE, x, 2, y);
  expectInBothLayouts(OperationType::SPACE_TO_DEPTH, y, 2, x);
}

TEST(DepthToSpace, Refuses) {
  RandomOperands random(202);
  const auto refuses = [&](OperationType op, const Shape& shape, int block,
                           const std::string& text) {
    const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, shape);
    expectFailure(op, {x, TestOperand::int32(block)}, {outputLike(x)}, text);
  };
  for (OperationType op : {OperationType::DEPTH_TO_SPACE, OperationType::SPACE_TO_DEPTH}) {
    for (int block : {0, -1, kIntMin}) {
      refuses(op, {1, 2, 2, 4}, block, fmt::format("block size is {}, expected 1 or more", block));
    }
    refuses(op, {2, 2, 4}, 2, "input has rank 3 [2,2,4], expected rank 4");
    refuses(op, {0, 2, 2, 4}, 2, "zero-sized");
    const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM_SIGNED, {1, 2, 2, 4});
    expectChecksOutputScale(op, {x, TestOperand::int32(2)}, x);
    EXPECT_EQ(inferenceOf(op, {x, unknownValue(INT32)}, {outputLike(x)}).code(),
              ResultCode::INCOMPLETE);
    EXPECT_EQ(
        inferenceOf(op, {x, TestOperand::int32(1), unknownValue(BOOL)}, {outputLike(x)}).code(),
        ResultCode::INCOMPLETE);
  }
  refuses(OperationType::DEPTH_TO_SPACE, {1, 2, 2, 6}, 2,
          "input has 6 channels, expected a multiple of 4, the square of block size 2");
  refuses(OperationType::DEPTH_TO_SPACE, {1, 2, 2, 6}, kIntMax,
          "a multiple of 4611686014132420609");
  refuses(OperationType::SPACE_TO_DEPTH, {1, 3, 2, 1}, 2,
          "input has height 3, expected a multiple of block size 2");
  refuses(OperationType::SPACE_TO_DEPTH, {1, 2, 3, 1}, 2, "input has width 3");
  refuses(OperationType::SPACE_TO_DEPTH, {1, 2, 2, 1}, kIntMax, "input has height 2");
  const TestOperand large = unknownValue(TENSOR_QUANT8_ASYMM, {1, 1u << 31, 1, 4});
  EXPECT_THAT(inferenceOf(OperationType::DEPTH_TO_SPACE, {large, TestOperand::int32(2)},
                          {outputLike(large)})
                  .message(),
              ::testing::HasSubstr("dimension 1 of the output would be 4294967296"));
}

}  // namespace
}  // namespace halyard::ops::testing

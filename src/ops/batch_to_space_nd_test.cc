// Tests of BATCH_TO_SPACE_ND and SPACE_TO_BATCH_ND against their mappings of coordinates, in both
// layouts.
#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

void expectInBothLayouts(OperationType op, const TestOperand& x,
                         const std::vector<TestOperand>& rest, const TestOperand& expected) {
  const auto inputs = [&](const TestOperand& image, const std::vector<TestOperand>& layout) {
    std::vector<TestOperand> all = {image};
    all.insert(all.end(), rest.begin(), rest.end());
    all.insert(all.end(), layout.begin(), layout.end());
    return all;
  };
  expectResult(op, inputs(x, {}), expected, "default layout");
  expectResult(op, inputs(x, {TestOperand::boolean(false)}), expected, "NHWC");
  expectResult(op, inputs(toNchw(x), {TestOperand::boolean(true)}), toNchw(expected), "NCHW");
}

TestOperand blocksOf(uint32_t height, uint32_t width) {
  return intList({static_cast<int32_t>(height), static_cast<int32_t>(width)});
}

TEST(BatchToSpaceNd, AgreesWithDefinition) {
  RandomOperands random(211);
  for (int round = 0; round < 20; ++round) {
    for (OperandType type : kFloatAndQuant8) {
      Shape shape = randomShape(random, 4, 4, 3);
      const auto height = static_cast<uint32_t>(random.between(1, 3));
      const auto width = static_cast<uint32_t>(random.between(1, 3));
      const uint32_t batch = shape[0];
      shape[0] *= height * width;
      const TestOperand x = random.tensor(type, shape);
      const TestOperand expected =
          moved(x, {batch, shape[1] * height, shape[2] * width, shape[3]},
                [&](const Coordinates& at) -> MaybeCoordinates {
                  const size_t place = at[1] % height * width + at[2] % width;
                  return Coordinates{place * batch + at[0], at[1] / height, at[2] / width, at[3]};
                });
      expectInBothLayouts(OperationType::BATCH_TO_SPACE_ND, x, {blocksOf(height, width)}, expected);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SpaceToBatchNd, AgreesWithDefinition) {
  RandomOperands random(212);
  for (int round = 0; round < 30; ++round) {
    for (OperandType type : kFloatAndQuant8) {
      const Shape shape = randomShape(random, 4, 4, 4);
      const TestOperand x = random.tensor(type, shape);
      const auto height = static_cast<uint32_t>(random.between(1, 4));
      const auto width = static_cast<uint32_t>(random.between(1, 4));
      // The padding at the end completes the blocks, and sometimes adds a block.
      const auto restOf = [&](uint32_t size, uint32_t block) {
        return (block - size % block) % block + (random.coin() ? block : 0);
      };
      const auto top = static_cast<uint32_t>(random.between(0, 5));
      const auto left = static_cast<uint32_t>(random.between(0, 5));
      const uint32_t bottom = restOf(shape[1] + top, height);
      const uint32_t right = restOf(shape[2] + left, width);
      const Shape result = {shape[0] * height * width, (shape[1] + top + bottom) / height,
                            (shape[2] + left + right) / width, shape[3]};
      const std::vector<uint8_t> fill(
          4, isQuant8Asymm(type) ? static_cast<uint8_t>(x.tensor.zeroPoint) : uint8_t{0});
      const TestOperand expected = moved(
          x, result,
          [&](const Coordinates& at) -> MaybeCoordinates {
            const size_t place = at[0] / shape[0];
            const size_t row = at[1] * height + place / width;
            const size_t column = at[2] * width + place % width;
            if (row < top || row - top >= shape[1]) return std::nullopt;
            if (column < left || column - left >= shape[2]) return std::nullopt;
            return Coordinates{at[0] % shape[0], row - top, column - left, at[3]};
          },
          fill);
      const TestOperand paddings =
          intTensor({2, 2}, {static_cast<int32_t>(top), static_cast<int32_t>(bottom),
                             static_cast<int32_t>(left), static_cast<int32_t>(right)});
      expectInBothLayouts(OperationType::SPACE_TO_BATCH_ND, x, {blocksOf(height, width), paddings},
                          expected);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SpaceToBatchNd, ByHand) {
  const auto x = TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {1, 1, 3, 1}, {1, 2, 3}, 0.5f, 9);
  const auto y = TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {4, 1, 2, 1},
                                          {9, 9, 9, 9, 9, 2, 1, 3}, 0.5f, 9);
  expectResult(OperationType::SPACE_TO_BATCH_ND,
               {x, intList({2, 2}), intTensor({2, 2}, {1, 0, 1, 0})}, y);
}

TEST(BatchToSpaceNd, Refuses) {
  RandomOperands random(213);
  const auto refuses = [&](const Shape& shape, const TestOperand& blocks, const std::string& text) {
    const TestOperand x = random.tensor(TENSOR_FLOAT32, shape);
    expectFailure(OperationType::BATCH_TO_SPACE_ND, {x, blocks}, {outputLike(x)}, text);
  };
  refuses({4, 1, 1, 1}, intList({0, 2}), "block sizes are 0 and 2, expected 1 or more");
  refuses({4, 1, 1, 1}, intList({2, kIntMin}), "block sizes are 2 and -2147483648");
  refuses({4, 1, 1, 1}, intList({2, 2, 2}), "the shape of block sizes is [3], expected [2]");
  refuses({4, 1, 1, 1}, intTensor({1, 2}, {2, 2}), "the shape of block sizes is [1,2]");
  refuses({6, 1, 1, 1}, intList({2, 2}),
          "input has batch 6, expected a multiple of 4, for blocks of 2 x 2");
  refuses({4, 1, 1, 1}, intList({kIntMax, kIntMax}), "a multiple of 4611686014132420609");
  refuses({4, 1, 1}, intList({2, 2}), "rank 3");
  refuses({4, 1, 0, 1}, intList({2, 2}), "zero-sized");
  const TestOperand large = unknownValue(TENSOR_QUANT8_ASYMM, {2, 1, 1u << 31, 1});
  EXPECT_THAT(
      inferenceOf(OperationType::BATCH_TO_SPACE_ND, {large, intList({1, 2})}, {outputLike(large)})
          .message(),
      ::testing::HasSubstr("dimension 2 of the output would be 4294967296"));
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {4, 1, 1, 1});
  expectChecksOutputScale(OperationType::BATCH_TO_SPACE_ND, {x, intList({2, 2})}, x);
  EXPECT_EQ(inferenceOf(OperationType::BATCH_TO_SPACE_ND, {x, unknownValue(TENSOR_INT32, {2})},
                        {outputLike(x)})
                .code(),
            ResultCode::INCOMPLETE);
}

TEST(SpaceToBatchNd, Refuses) {
  RandomOperands random(214);
  const auto refuses = [&](const Shape& shape, const std::vector<int32_t>& blocks,
                           const TestOperand& paddings, const std::string& text) {
    const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, shape);
    expectFailure(OperationType::SPACE_TO_BATCH_ND, {x, intList(blocks), paddings}, {outputLike(x)},
                  text);
  };
  const TestOperand none = intTensor({2, 2}, {0, 0, 0, 0});
  refuses({1, 2, 2, 1}, {2, 0}, none, "block sizes are 2 and 0");
  refuses({1, 2, 2, 1}, {2, 2}, intList({0, 0, 0, 0}), "the shape of paddings is [4]");
  refuses({1, 2, 2, 1}, {2, 2}, intTensor({2, 2}, {0, -2, 0, 2}), "paddings are [0,-2,0,2]");
  refuses({1, 3, 2, 1}, {2, 2}, none,
          "the padded input has height 3, expected a multiple of block size 2");
  refuses({1, 2, 2, 1}, {2, 2}, intTensor({2, 2}, {0, 0, 1, 2}), "the padded input has width 5");
  refuses({1, 2, 2, 1}, {1, 1}, intTensor({2, 2}, {kIntMax, kIntMax, 0, 0}),
          "dimension 1 of the output would be 4294967296");
  refuses({1, 1, 1, 1}, {kIntMax, kIntMax}, intTensor({2, 2}, {kIntMax - 1, 0, kIntMax - 1, 0}),
          "dimension 0 of the output would be 4611686014132420609");
  refuses({8, 2, 2, 1}, {kIntMax, 1}, intTensor({2, 2}, {kIntMax - 2, 0, 0, 0}),
          "dimension 0 of the output would be 17179869176");
  refuses({1, 1, 1, 1}, {1, 1}, intTensor({2, 2}, {kIntMax, 0, kIntMax, 0}),
          "more than 4294967295 bytes");
  refuses({2, 2, 1}, {1, 1}, none, "rank 3");
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {1, 2, 2, 1});
  expectChecksOutputScale(OperationType::SPACE_TO_BATCH_ND, {x, intList({2, 2}), none}, x);
  EXPECT_EQ(inferenceOf(OperationType::SPACE_TO_BATCH_ND,
                        {x, intList({2, 2}), unknownValue(TENSOR_INT32, {2, 2})}, {outputLike(x)})
                .code(),
            ResultCode::INCOMPLETE);
}

}  // namespace
}  // namespace halyard::ops::testing

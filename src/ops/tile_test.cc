// Tests of TILE against coordinates modulo the input's dimensions.
#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(Tile, AgreesWithDefinition) {
  RandomOperands random(241);
  for (int round = 0; round < 30; ++round) {
    for (OperandType type : kFloatInt32AndQuant8) {
      const TestOperand x = anyTensor(random, type, randomShape(random, 1, 5, 3));
      Shape shape = x.tensor.dims;
      std::vector<int32_t> multiples;
      for (uint32_t& d : shape) {
        multiples.push_back(random.between(1, 3));
        d *= static_cast<uint32_t>(multiples.back());
      }
      const TestOperand expected = moved(x, shape, [&](Coordinates at) -> MaybeCoordinates {
        for (size_t d = 0; d < at.size(); ++d) at[d] %= x.tensor.dims[d];
        return at;
      });
      expectResult(OperationType::TILE, {x, intList(multiples)}, expected,
                   fmt::format("multiples {}", fmt::join(multiples, ",")));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Tile, ManyDimensions) {
  // More dimensions than possible with sizes above 1.
  const Shape shape(300, 1);
  const auto x = TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, shape, {7}, 1);
  std::vector<int32_t> multiples(300, 1);
  multiples[100] = 3;
  TestOperand expected = TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, shape, {7, 7, 7}, 1);
  expected.tensor.dims[100] = 3;
  expectResult(OperationType::TILE, {x, intList(multiples)}, expected);
}

TEST(Tile, NoTimes) {
  const auto x = TestOperand::of<float>(TENSOR_FLOAT32, {2, 1}, {1, 2});
  expectResult(OperationType::TILE, {x, intList({3, 0})},
               TestOperand::of<float>(TENSOR_FLOAT32, {6, 0}, {}));
}

TEST(Tile, Refuses) {
  RandomOperands random(242);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {2, 4});
  const auto refuses = [&](const TestOperand& multiples, const std::string& text) {
    expectFailure(OperationType::TILE, {x, multiples}, {outputLike(x)}, text);
  };
  refuses(intList({1, -1}), "multiples are -1 in dimension 1, expected 0 or more");
  refuses(intList({kIntMin, 1}), "multiples are -2147483648 in dimension 0");
  refuses(intList({1}), "the shape of multiples is [1], expected [2]");
  refuses(intTensor({1, 2}, {1, 1}), "the shape of multiples is [1,2]");
  refuses(intList({1, kIntMax}), "dimension 1 of the output would be 8589934588");
  refuses(intList({kIntMax, 1 << 20}), "more than 4294967295 bytes");
  expectFailure(OperationType::TILE, {random.tensor(TENSOR_FLOAT32, {0}), intList({2})},
                {TestOperand::output(TENSOR_FLOAT32)}, "zero-sized");
  expectChecksOutputScale(OperationType::TILE, {x, intList({2, 1})}, x);
  EXPECT_EQ(inferenceOf(OperationType::TILE, {x, unknownValue(TENSOR_INT32, {2})}, {outputLike(x)})
                .code(),
            ResultCode::INCOMPLETE);
}

}  // namespace
}  // namespace halyard::ops::testing

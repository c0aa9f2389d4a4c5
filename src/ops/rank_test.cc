// Tests of RANK of every type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

const OperandType kRankTypes[] = {TENSOR_FLOAT16,       TENSOR_FLOAT32,
                                  TENSOR_INT32,         TENSOR_QUANT8_ASYMM,
                                  TENSOR_QUANT16_SYMM,  TENSOR_BOOL8,
                                  TENSOR_QUANT16_ASYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL,
                                  TENSOR_QUANT8_SYMM,   TENSOR_QUANT8_ASYMM_SIGNED};

TEST(Rank, CountsDimensions) {
  for (OperandType type : kRankTypes) {
    for (size_t rank : {1u, 2u, 4u, 7u}) {
      const TestOperand x = TestOperand::of<uint8_t>(type, Shape(rank, 1),
                                                     std::vector<uint8_t>(elementSize(type)), 1);
      const TestOperand result = resultOf(OperationType::RANK, {x}, TestOperand::output(INT32));
      EXPECT_TRUE(result.tensor.dims.empty());
      EXPECT_THAT(result.values<int32_t>(), ::testing::ElementsAre(static_cast<int32_t>(rank)));
    }
  }
}

TEST(Rank, LevelsAndErrors) {
  std::map<OperandType, int> levels;
  for (OperandType type : kRankTypes) levels[type] = 4;
  expectTypeLevels(OperationType::RANK, levels);
  expectFailure(OperationType::RANK, {intList({})}, {TestOperand::output(INT32)}, "zero-sized");
  expectFailure(OperationType::RANK, {TestOperand::omitted(TENSOR_FLOAT32)},
                {TestOperand::output(INT32)}, "has no value");
}

}  // namespace
}  // namespace halyard::ops::testing

// Tests of FILL: values, shapes and hostile dimensions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::Each;

TEST(Fill, EveryType) {
  const TestOperand floats =
      resultOf(OperationType::FILL, {intList({2, 3, 1, 1, 2}), TestOperand::float32(-1.25f)},
               TestOperand::output(TENSOR_FLOAT32));
  EXPECT_EQ(floats.tensor.dims, (Shape{2, 3, 1, 1, 2}));
  EXPECT_THAT(floats.values<float>(), ::testing::AllOf(::testing::SizeIs(12), Each(-1.25f)));
  const TestOperand integers =
      resultOf(OperationType::FILL, {intList({5}), TestOperand::int32(INT32_MIN)},
               TestOperand::output(TENSOR_INT32));
  EXPECT_THAT(integers.values<int32_t>(), ::testing::AllOf(::testing::SizeIs(5), Each(INT32_MIN)));
  // Bits of a float16 are kept, also those of a NaN.
  for (uint16_t bits : {0x3c00, 0x7d01, 0x8000}) {
    const TestOperand halves = resultOf(
        OperationType::FILL, {intList({2, 2}), TestOperand::of<uint16_t>(FLOAT16, {}, {bits})},
        TestOperand::output(TENSOR_FLOAT16));
    EXPECT_EQ(halves.tensor.dims, (Shape{2, 2}));
    EXPECT_THAT(halves.values<uint16_t>(), ::testing::AllOf(::testing::SizeIs(4), Each(bits)));
  }
}

TEST(Fill, ZeroSizedResult) {
  const TestOperand result =
      resultOf(OperationType::FILL, {intList({3, 0, INT32_MAX}), TestOperand::int32(1)},
               TestOperand::output(TENSOR_INT32));
  EXPECT_EQ(result.tensor.dims, (Shape{3, 0, INT32_MAX}));
  EXPECT_TRUE(result.bytes.empty());
}

TEST(Fill, WaitsForItsDimensions) {
  Tensor inputs[2];
  inputs[0].type = TENSOR_INT32;
  inputs[0].dims = {2};
  inputs[1].type = FLOAT32;
  Tensor output;
  output.type = TENSOR_FLOAT32;
  OperationContext unknown(inputs, std::span(&output, 1), nullptr);
  const OperationDefinition& definition = *definitionOf(OperationType::FILL);
  EXPECT_EQ(inferShapes(definition, unknown).code(), ResultCode::INCOMPLETE);
  // The shape does not depend on the value.
  int32_t dims[] = {4, 5};
  inputs[0].data = dims;
  OperationContext known(inputs, std::span(&output, 1), nullptr);
  EXPECT_TRUE(inferShapes(definition, known).ok());
  EXPECT_EQ(output.dims, (Shape{4, 5}));
}

TEST(Fill, Refuses) {
  const auto refuse = [](const TestOperand& dims, const std::string& text) {
    expectFailure(OperationType::FILL, {dims, TestOperand::int32(1)},
                  {TestOperand::output(TENSOR_INT32)}, text);
  };
  refuse(intList({2, -1}), "dims[1] is -1, expected at least 0");
  refuse(intList({INT32_MIN}), "dims[0] is -2147483648");
  refuse(intList({65536, 65536}), "more than 4294967295 bytes");
  refuse(intList({INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX}), "more than 4294967295 bytes");
  refuse(intList({}), "zero-sized");
  refuse(TestOperand::of<int32_t>(TENSOR_INT32, {1, 2}, {3, 4}),
         "dims has rank 2 [1,2], expected rank 1");
}

TEST(Fill, RowsMatchTheValue) {
  expectTypeLevels(OperationType::FILL,
                   {{TENSOR_FLOAT32, 4}, {TENSOR_FLOAT16, 4}, {TENSOR_INT32, 4}});
  const std::map<OperandType, OperandType> scalars = {
      {TENSOR_FLOAT32, FLOAT32}, {TENSOR_FLOAT16, FLOAT16}, {TENSOR_INT32, INT32}};
  for (const TypeRow& row : definitionOf(OperationType::FILL)->signature.rows) {
    EXPECT_EQ(row.types[1], scalars.at(row.types[0]));
  }
}

}  // namespace
}  // namespace halyard::ops::testing

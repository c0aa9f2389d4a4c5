// Tests of the conversions between tensors, real values and .npy arrays.
#include "measure/tensor_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::measure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> values(const TensorType& tensor, const std::vector<uint8_t>& bytes) {
  const auto result = realValues(tensor, bytes);
  EXPECT_TRUE(result.ok()) << result.status().toString();
  return result.ok() ? *result : std::vector<float>();
}

TEST(RealValues, Dequantizes) {
  EXPECT_THAT(values({OperandType::TENSOR_QUANT8_ASYMM, 0.5f, 128}, {0, 128, 255}),
              ElementsAre(-64.0f, 0.0f, 63.5f));
  EXPECT_THAT(values({OperandType::TENSOR_QUANT8_ASYMM_SIGNED, 2.0f, -128}, {0x80, 0x7f, 0}),
              ElementsAre(0.0f, 510.0f, 256.0f));
  EXPECT_THAT(values({OperandType::TENSOR_QUANT16_SYMM, 1.0f, 0}, {0xff, 0xff}),
              ElementsAre(-1.0f));
  EXPECT_THAT(values({OperandType::TENSOR_QUANT16_ASYMM, 1.0f, 1}, {0xff, 0xff}),
              ElementsAre(65534.0f));
}

TEST(RealValues, ReadsPlainTypes) {
  EXPECT_THAT(values({OperandType::TENSOR_FLOAT32}, {0, 0, 0xc0, 0x3f}), ElementsAre(1.5f));
  EXPECT_THAT(values({OperandType::TENSOR_FLOAT16}, {0, 0x3c, 0, 0xc0}), ElementsAre(1.0f, -2.0f));
  EXPECT_THAT(values({OperandType::TENSOR_INT32}, {0xfe, 0xff, 0xff, 0xff}), ElementsAre(-2.0f));
  EXPECT_THAT(values({OperandType::TENSOR_BOOL8}, {0, 1, 7}), ElementsAre(0.0f, 1.0f, 1.0f));
}

TEST(RealValues, RefusesWhatHasNone) {
  EXPECT_FALSE(realValues({OperandType::TENSOR_FLOAT32}, std::vector<uint8_t>(5)).ok());
  EXPECT_FALSE(
      realValues({OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL}, std::vector<uint8_t>(1)).ok());
  EXPECT_FALSE(realValues({static_cast<OperandType>(0x10001)}, std::vector<uint8_t>(1)).ok());
}

TEST(Npy, BothWays) {
  const std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto array = toNpy(OperandType::TENSOR_INT32, {2, 1}, bytes);
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->dtype, "i4");
  EXPECT_THAT(array->shape, ElementsAre(2, 1));
  for (const Shape& dims : {Shape{2, 1}, Shape{0, 1}, Shape{}}) {
    const auto back = fromNpy(OperandType::TENSOR_INT32, dims, *array);
    ASSERT_TRUE(back.ok()) << back.status().toString();
    EXPECT_EQ(*back, bytes);
  }
}

TEST(Npy, MismatchNamesBothSides) {
  const media::NpyArray array{"f4", {1, 2}, std::vector<uint8_t>(8)};
  EXPECT_EQ(fromNpy(OperandType::TENSOR_FLOAT32, {2, 1}, array).status().toString(),
            "BAD_DATA: expected are f4 elements of shape [2,1] (TENSOR_FLOAT32), the array has f4 "
            "of (1, 2)");
  EXPECT_THAT(fromNpy(OperandType::TENSOR_QUANT8_ASYMM, {1, 2}, array).status().message(),
              HasSubstr("expected are u1 elements"));
  EXPECT_FALSE(fromNpy(OperandType::TENSOR_FLOAT32, {1, 2, 1}, array).ok());
  EXPECT_FALSE(fromNpy(OperandType::FLOAT32, {}, array).ok());
  EXPECT_FALSE(fromNpy(OperandType::TENSOR_FLOAT32, {1, 0}, {"f4", {1, 0}, {}}).ok());
}

TEST(FileName, IsSafe) {
  EXPECT_EQ(fileNameOf("StatefulPartitionedCall:0", "x"), "StatefulPartitionedCall_0");
  EXPECT_EQ(fileNameOf("../../etc/passwd", "x"), "_._.._etc_passwd");
  EXPECT_EQ(fileNameOf("a b\n\xc3\xa9", "x"), "a_b___");
  EXPECT_EQ(fileNameOf("", "output_3"), "output_3");
  EXPECT_EQ(fileNameOf(std::string(500, 'a'), "x").size(), 100u);
}

}  // namespace
}  // namespace halyard::measure

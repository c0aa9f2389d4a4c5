// Tests of values with the types of a model file.
#include "measure/port_arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace halyard::measure {
namespace {

using import::ElementForm;
using import::ModelPort;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
std::vector<uint8_t> bytesOf(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

const ModelPort kIds = {"ids", OperandType::TENSOR_INT32, {1, 3}, 0, 0, ElementForm::INT64};
const ModelPort kBins = {"bins", OperandType::TENSOR_FLOAT32, {2, 4}, 0, 0, ElementForm::COMPLEX64};

TEST(PortArrays, IntegersOf64Bits) {
  const std::vector<uint8_t> narrow = bytesOf<int32_t>({-7, 0, INT32_MAX});
  const auto array = toPortArray(kIds, {1, 3}, narrow);
  ASSERT_TRUE(array.ok()) << array.status().toString();
  EXPECT_EQ(array->dtype, "i8");
  EXPECT_THAT(array->shape, ElementsAre(1, 3));
  EXPECT_EQ(array->data, bytesOf<int64_t>({-7, 0, INT32_MAX}));
  const auto back = fromPortArray(kIds, *array);
  ASSERT_TRUE(back.ok()) << back.status().toString();
  EXPECT_EQ(back->bytes, narrow);
  EXPECT_EQ(back->dims, (Shape{1, 3}));
  // The type of the operand is also accepted.
  const auto plain = fromPortArray(kIds, {"i4", {1, 3}, narrow});
  ASSERT_TRUE(plain.ok()) << plain.status().toString();
  EXPECT_EQ(plain->bytes, narrow);
  const auto large = fromPortArray(kIds, {"i8", {1, 3}, bytesOf<int64_t>({0, 1LL << 31, 0})});
  ASSERT_FALSE(large.ok());
  EXPECT_THAT(large.status().message(),
              HasSubstr("element 1 is 2147483648, which needs more than the 32 bits"));
}

TEST(PortArrays, ComplexNumbers) {
  const std::vector<uint8_t> pairs = bytesOf<float>({1, 2, 3, 4, 5, 6, 7, 8});
  const auto array = toPortArray(kBins, {2, 4}, pairs);
  ASSERT_TRUE(array.ok()) << array.status().toString();
  EXPECT_EQ(array->dtype, "c8");
  EXPECT_THAT(array->shape, ElementsAre(2, 2));
  EXPECT_EQ(array->data, pairs);
  const auto back = fromPortArray(kBins, *array);
  ASSERT_TRUE(back.ok()) << back.status().toString();
  EXPECT_EQ(back->bytes, pairs);
  EXPECT_EQ(back->dims, (Shape{2, 4}));
  EXPECT_FALSE(fromPortArray(kBins, {"c8", {2, 3}, std::vector<uint8_t>(48)}).ok());
}

}  // namespace
}  // namespace halyard::measure

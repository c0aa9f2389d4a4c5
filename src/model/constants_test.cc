// Tests of constantData and constantScalar with all valid and invalid locations of constants.
#include "halyard/driver/constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace halyard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Operand bytesAt(Lifetime lifetime, DataLocation location) {
  Operand operand;
  operand.type = OperandType::TENSOR_QUANT8_ASYMM;
  operand.dimensions = {location.length};
  operand.lifetime = lifetime;
  operand.location = location;
  return operand;
}

SharedMemoryPtr poolOf(std::initializer_list<uint8_t> bytes) {
  auto pool = SharedMemory::create(bytes.size(), "constants_test");
  EXPECT_TRUE(pool.ok()) << pool.status().toString();
  std::copy(bytes.begin(), bytes.end(), (*(*pool)->mapped())->data());
  return *pool;
}

Model modelWithPools() {
  Model model;
  model.operandValues = {1, 2, 3, 4, 5};
  model.pools = {poolOf({10, 11}), poolOf({20, 21, 22, 23})};
  return model;
}

TEST(ConstantDataTest, FindsCopiesAndReferences) {
  const Model model = modelWithPools();
  const auto copied = constantData(model, bytesAt(Lifetime::CONSTANT_COPY, {0, 1, 3}));
  ASSERT_TRUE(copied.ok()) << copied.status().toString();
  EXPECT_THAT(*copied, ElementsAre(2, 3, 4));
  const auto referred = constantData(model, bytesAt(Lifetime::CONSTANT_REFERENCE, {1, 2, 2}));
  ASSERT_TRUE(referred.ok()) << referred.status().toString();
  EXPECT_THAT(*referred, ElementsAre(22, 23));
  const auto again = constantData(model, bytesAt(Lifetime::CONSTANT_REFERENCE, {1, 2, 2}));
  EXPECT_EQ(again->data(), referred->data()) << "the pool has been mapped twice";
}

TEST(ConstantDataTest, RefusesWhatIsNotThere) {
  const Model model = modelWithPools();
  const auto errorOf = [&](Lifetime lifetime, DataLocation location) {
    const auto data = constantData(model, bytesAt(lifetime, location));
    EXPECT_EQ(data.status().code(), ResultCode::BAD_DATA);
    return data.status().message();
  };
  EXPECT_THAT(errorOf(Lifetime::SUBGRAPH_INPUT, {}), HasSubstr("SUBGRAPH_INPUT, not a constant"));
  EXPECT_THAT(errorOf(Lifetime::CONSTANT_COPY, {0, 3, 3}),
              HasSubstr("3 bytes at offset 3 lie outside of the 5 bytes"));
  EXPECT_THAT(errorOf(Lifetime::CONSTANT_REFERENCE, {2, 0, 1}), HasSubstr("pool 2, the model has"));
  EXPECT_THAT(errorOf(Lifetime::CONSTANT_REFERENCE, {0, UINT32_MAX, UINT32_MAX}),
              HasSubstr("model pool 0: 4294967295 bytes at offset 4294967295"));
}

TEST(ConstantDataTest, DoesNotTouchAPoolThatMayNotBeRead) {
  Model model;
  const SharedMemoryPtr whole = poolOf({1, 2, 3, 4});
  const auto writeOnly = SharedMemory::fromFd(4, PROT_WRITE, whole->fd(), 0);
  ASSERT_TRUE(writeOnly.ok());
  model.pools = {*writeOnly};
  const auto data = constantData(model, bytesAt(Lifetime::CONSTANT_REFERENCE, {0, 0, 4}));
  EXPECT_EQ(data.status().code(), ResultCode::UNMAPPABLE);
  EXPECT_THAT(data.status().message(), HasSubstr("pool 0 may not be read"));
}

TEST(ConstantScalarTest, ReadsAValueOfTheRightSizeOnly) {
  Model model;
  const int32_t three = 3;
  Operand operand;
  operand.type = OperandType::INT32;
  operand.lifetime = Lifetime::CONSTANT_COPY;
  operand.location = appendConstant(model, &three, sizeof three);
  EXPECT_EQ(constantScalar<int32_t>(model, operand).value(), 3);
  const auto wrong = constantScalar<uint8_t>(model, operand);
  EXPECT_EQ(wrong.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(wrong.status().message(), HasSubstr("INT32 has 4 bytes, expected 1"));
}

}  // namespace
}  // namespace halyard

// Tests of CAST: every pair of types, at the limits of their ranges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr int32_t kLeastInt32 = std::numeric_limits<int32_t>::min();
constexpr int32_t kMax = std::numeric_limits<int32_t>::max();

template <typename T>
TestOperand list(OperandType type, const std::vector<T>& values, float scale = 0, int zero = 0) {
  return TestOperand::of<T>(type, {static_cast<uint32_t>(values.size())}, values, scale, zero);
}
TestOperand halves(const std::vector<float>& values) {
  std::vector<Float16> result;
  for (float value : values) result.push_back(toFloat16(value));
  return list(TENSOR_FLOAT16, result);
}
TestOperand castTo(OperandType type, const TestOperand& x, float scale = 0, int zero = 0) {
  return resultOf(OperationType::CAST, {x}, TestOperand::output(type, scale, zero));
}
std::vector<float> floats(const TestOperand& operand) {
  const std::vector<double> reals = realValues(operand);
  return {reals.begin(), reals.end()};
}

TEST(Cast, FromFloat32) {
  const TestOperand x = list<float>(
      TENSOR_FLOAT32, {2.9f, -2.9f, 254.9f, 255.5f, 256, -0.5f, kInfinity, -kInfinity, kNan, 3e9f,
                       -3e9f, 2147483520.0f, -2147483648.0f, 2147483648.0f});
  EXPECT_THAT(castTo(TENSOR_INT32, x).values<int32_t>(),
              ElementsAre(2, -2, 254, 255, 256, 0, kMax, kLeastInt32, 0, kMax, kLeastInt32,
                          2147483520, kLeastInt32, kMax));
  EXPECT_THAT(castTo(TENSOR_QUANT8_ASYMM, x, 0.5f, 7).bytes,
              ElementsAre(2, 0, 254, 255, 255, 0, 255, 0, 0, 255, 0, 255, 0, 255));
  EXPECT_THAT(floats(castTo(TENSOR_FLOAT16,
                            list<float>(TENSOR_FLOAT32, {1.5f, 2049, 2051, 1e6f, -kInfinity}))),
              ElementsAre(1.5f, 2048, 2052, kInfinity, -kInfinity));
  EXPECT_EQ(castTo(TENSOR_FLOAT32, x).bytes, x.bytes);
}

TEST(Cast, FromFloat16) {
  const TestOperand x = halves({2.9f, -2.9f, 255.5f, 65504, -kInfinity, kNan});
  EXPECT_THAT(castTo(TENSOR_INT32, x).values<int32_t>(),
              ElementsAre(2, -2, 255, 65504, kLeastInt32, 0));
  EXPECT_THAT(castTo(TENSOR_QUANT8_ASYMM, x, 1, 0).bytes, ElementsAre(2, 0, 255, 255, 0, 0));
  EXPECT_THAT(castTo(TENSOR_FLOAT32, halves({0.5f, -65504, kInfinity})).values<float>(),
              ElementsAre(0.5f, -65504, kInfinity));
  EXPECT_EQ(castTo(TENSOR_FLOAT16, x).bytes, x.bytes);
}

TEST(Cast, FromInt32) {
  const TestOperand x = intList({0, -1, 255, 256, kMax, kLeastInt32, 16777217, 2049, 65520});
  EXPECT_THAT(castTo(TENSOR_QUANT8_ASYMM, x, 2, 3).bytes,
              ElementsAre(0, 0, 255, 255, 255, 0, 255, 255, 255));
  EXPECT_THAT(castTo(TENSOR_FLOAT32, x).values<float>(),
              ElementsAre(0, -1, 255, 256, 2147483648.0f, -2147483648.0f, 16777216, 2049, 65520));
  EXPECT_THAT(floats(castTo(TENSOR_FLOAT16, x)),
              ElementsAre(0, -1, 255, 256, kInfinity, -kInfinity, kInfinity, 2048, kInfinity));
  EXPECT_EQ(castTo(TENSOR_INT32, x).bytes, x.bytes);
}

TEST(Cast, FromQuant8IgnoresParameters) {
  const TestOperand x = list<uint8_t>(TENSOR_QUANT8_ASYMM, {0, 1, 128, 255}, 0.1f, 128);
  EXPECT_THAT(castTo(TENSOR_FLOAT32, x).values<float>(), ElementsAre(0, 1, 128, 255));
  EXPECT_THAT(floats(castTo(TENSOR_FLOAT16, x)), ElementsAre(0, 1, 128, 255));
  EXPECT_THAT(castTo(TENSOR_INT32, x).values<int32_t>(), ElementsAre(0, 1, 128, 255));
  EXPECT_THAT(castTo(TENSOR_QUANT8_ASYMM, x, 3, 5).bytes, ElementsAre(0, 1, 128, 255));
}

TEST(Cast, IdentitiesOfOtherTypes) {
  for (OperandType type : {TENSOR_QUANT16_ASYMM, TENSOR_QUANT16_SYMM}) {
    const TestOperand x = list<uint16_t>(type, {0, 1, 0x7fff, 0x8000, 0xffff}, 0.5f);
    EXPECT_EQ(castTo(type, x, 0.25f).bytes, x.bytes);
  }
  for (OperandType type : {TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM}) {
    const TestOperand x = list<uint8_t>(type, {0, 1, 127, 128, 255}, 0.5f);
    EXPECT_EQ(castTo(type, x, 0.25f).bytes, x.bytes);
  }
  EXPECT_THAT(castTo(TENSOR_BOOL8, list<uint8_t>(TENSOR_BOOL8, {0, 1, 2, 255})).bytes,
              ElementsAre(0, 1, 1, 1));
}

TEST(Cast, TakesAnyRank) {
  const Shape shape = {1, 2, 1, 1, 3, 1};
  const TestOperand x = TestOperand::of<int32_t>(TENSOR_INT32, shape, {1, 2, 3, 4, 5, 6});
  const TestOperand result = castTo(TENSOR_FLOAT32, x);
  EXPECT_EQ(result.tensor.dims, shape);
  EXPECT_THAT(result.values<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Cast, LevelsOfPairs) {
  const OperandType all[] = {TENSOR_FLOAT32,      TENSOR_FLOAT16,     TENSOR_INT32,
                             TENSOR_QUANT8_ASYMM, TENSOR_BOOL8,       TENSOR_QUANT16_ASYMM,
                             TENSOR_QUANT16_SYMM, TENSOR_QUANT8_SYMM, TENSOR_QUANT8_ASYMM_SIGNED};
  for (size_t from = 0; from < std::size(all); ++from) {
    for (size_t to = 0; to < std::size(all); ++to) {
      int expected = 0;  // refused
      if (from < 4 && to < 4) expected = 3;
      if (from >= 4 && from == to) expected = 4;
      int level = 0;
      for (const TypeRow& row : definitionOf(OperationType::CAST)->signature.rows) {
        if (row.types[0] == all[from] && row.types[1] == all[to]) {
          level = static_cast<int>(row.since);
        }
      }
      EXPECT_EQ(level, expected) << operandTypeName(all[from]) << " to "
                                 << operandTypeName(all[to]);
    }
  }
}

// Returns the signature's status for declared shapes.
Status declared(const Shape& input, const Shape& output) {
  Model model;
  for (const Shape& shape : {input, output}) {
    Operand operand;
    operand.type = TENSOR_INT32;
    operand.dimensions = shape;
    model.main.operands.push_back(operand);
  }
  Operation operation;
  operation.type = OperationType::CAST;
  operation.inputs = {0};
  operation.outputs = {1};
  return checkSignature(definitionOf(OperationType::CAST)->signature,
                        OperationView(model, model.main, operation))
      .status();
}

TEST(Cast, RefusesOtherDeclaredShapes) {
  for (const auto& [input, output] : std::vector<std::pair<Shape, Shape>>{
           {{2, 3}, {2, 3}}, {{2, 3}, {}}, {{}, {2, 3}}, {{2, 0}, {2, 3}}, {{2, 3}, {0, 3}}}) {
    EXPECT_TRUE(declared(input, output).ok()) << declared(input, output).toString();
  }
  for (const auto& [input, output] : std::vector<std::pair<Shape, Shape>>{
           {{2, 3}, {6}}, {{2, 3}, {3, 2}}, {{2, 3}, {0, 2}}, {{2, 3}, {2, 3, 1}}}) {
    EXPECT_EQ(declared(input, output).code(), ResultCode::BAD_DATA);
  }
  EXPECT_THAT(
      declared({2, 3}, {100}).message(),
      ::testing::HasSubstr("output has the shape [100], expected that of the input, [2,3]"));
  expectFailure(OperationType::CAST, {intList({})}, {TestOperand::output(TENSOR_FLOAT32)},
                "zero-sized");
}

}  // namespace
}  // namespace halyard::ops::testing

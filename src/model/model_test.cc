// Tests of the sizes and texts of the canonical model.
#include "halyard/driver/model.h"

#include <gtest/gtest.h>

namespace halyard {
namespace {

TEST(Model, ByteSizes) {
  EXPECT_EQ(knownByteSize(OperandType::TENSOR_FLOAT32, {2, 3}), 24u);
  EXPECT_EQ(knownByteSize(OperandType::TENSOR_FLOAT16, {5}), 10u);
  EXPECT_EQ(knownByteSize(OperandType::BOOL, {}), 1u);
  EXPECT_EQ(knownByteSize(OperandType::TENSOR_INT32, {2, 0}), std::nullopt);
  EXPECT_EQ(knownByteSize(OperandType::TENSOR_INT32, {}), std::nullopt);
  // 2^32 bytes are one too many. The number of elements alone would fit.
  EXPECT_EQ(knownByteSize(OperandType::TENSOR_FLOAT32, {1u << 30}), std::nullopt);
  EXPECT_EQ(knownByteSize(OperandType::TENSOR_QUANT8_ASYMM, {1u << 30}), 1u << 30);
}

TEST(Model, OverflowOfDimensionsIsSeenPastUnknownOnes) {
  EXPECT_TRUE(checkSizeFits(OperandType::TENSOR_FLOAT32, {1u << 29, 0}).ok());
  const Status status =
      checkSizeFits(OperandType::TENSOR_FLOAT32, {5, 4, 4, 786433, 5, 3, 16777216, 4, 5});
  EXPECT_EQ(status.code(), ResultCode::BAD_DATA);
  EXPECT_NE(status.message().find("[5,4,4,786433,5,3,16777216,4,5]"), std::string::npos);
}

TEST(Model, ConstantsAreAlignedByLength) {
  Model model;
  const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(appendConstant(model, bytes, 1).offset, 0u);
  EXPECT_EQ(appendConstant(model, bytes, 2).offset, 2u);
  EXPECT_EQ(appendConstant(model, bytes, 1).offset, 4u);
  const DataLocation location = appendConstant(model, bytes, 8);
  EXPECT_EQ(location.offset, 8u);
  EXPECT_EQ(location.length, 8u);
  EXPECT_EQ(model.operandValues.size(), 16u);
  EXPECT_EQ(model.operandValues[15], 8);
}

TEST(Model, Texts) {
  EXPECT_EQ(shapeText({1, 0, 3}), "[1,?,3]");
  EXPECT_EQ(shapeText({}), "[...]");
  Operand operand;
  operand.type = OperandType::TENSOR_QUANT8_ASYMM;
  operand.dimensions = {1, 4};
  operand.scale = 0.5F;
  operand.zeroPoint = 128;
  EXPECT_EQ(operandText(operand), "TENSOR_QUANT8_ASYMM[1,4] scale 0.5 zero point 128");
  EXPECT_EQ(operationText(12, OperationType::CONV_2D), "operation #12 CONV_2D");
}

TEST(Model, ConsumersCountEveryUse) {
  Subgraph subgraph;
  subgraph.operands.resize(3);
  subgraph.operations = {{OperationType::ADD, {0, 0, 1}, {2}}};
  EXPECT_EQ(countConsumers(subgraph), (std::vector<uint32_t>{2, 1, 0}));
}

}  // namespace
}  // namespace halyard

// Tests of the closed sets: names, codes and traits, and agreement with the public header.
#include "halyard/driver/nnapi_types.h"

#include <android/NeuralNetworksTypes.h>
#include <gtest/gtest.h>

#include "halyard/driver/status.h"

namespace halyard {
namespace {

// The codes are those of the API. The compiler compares each of them.
#define HALYARD_OPERATION(code, name, definition) static_assert(ANEURALNETWORKS_##name == code);
#include "halyard/driver/ops.inc"
#undef HALYARD_OPERATION
static_assert(static_cast<int>(halyard::ResultCode::DEAD_OBJECT) == ANEURALNETWORKS_DEAD_OBJECT);

TEST(Types, NamesGoBothWays) {
  for (const OperandTypeTraits& traits : allOperandTypes()) {
    EXPECT_EQ(operandTypeFromName(traits.name), traits.type);
    EXPECT_EQ(operandTypeName(traits.type), traits.name);
  }
  for (int32_t code = 0; code <= 105; ++code) {
    const auto type = static_cast<OperationType>(code);
    EXPECT_TRUE(isBaseOperation(type));
    EXPECT_EQ(operationTypeFromName(operationTypeName(type)), type);
  }
  for (const OperationType type :
       {OperationType::ROUND_TO_DYNAMIC_RANGE, OperationType::QUANTIZED_SEQUENCE_LSTM}) {
    EXPECT_TRUE(isTfliteOperation(type));
    EXPECT_FALSE(isBaseOperation(type));
    EXPECT_TRUE(isExtension(type));
    EXPECT_EQ(operationTypeFromName(operationTypeName(type)), type);
  }
  EXPECT_FALSE(isTfliteOperation(OperationType::ADD));
  EXPECT_FALSE(isTfliteOperation(static_cast<OperationType>(0x7fff7fff)));
  EXPECT_FALSE(isBaseOperation(static_cast<OperationType>(106)));
  EXPECT_FALSE(isBaseOperation(static_cast<OperationType>(-1)));
  EXPECT_FALSE(operandTypeFromName("TENSOR").has_value());
}

TEST(Types, UnknownAndExtensionCodesHaveText) {
  EXPECT_EQ(operandTypeName(static_cast<OperandType>(16)), "unknown type 16");
  EXPECT_EQ(operandTypeName(static_cast<OperandType>(0x20003)), "extension type 0x00020003");
  EXPECT_EQ(operationTypeName(static_cast<OperationType>(0x7fff7fff)),
            "extension operation 0x7fff7fff");
  EXPECT_EQ(operationTypeName(static_cast<OperationType>(9999)), "unknown operation 9999");
  EXPECT_EQ(operandTypeTraits(static_cast<OperandType>(-1)), nullptr);
}

TEST(Types, FeatureLevelsHaveTheApisNumbers) {
  EXPECT_EQ(apiFeatureLevel(FeatureLevel::FL1), ANEURALNETWORKS_FEATURE_LEVEL_1);
  EXPECT_EQ(apiFeatureLevel(FeatureLevel::FL5), ANEURALNETWORKS_FEATURE_LEVEL_5);
  EXPECT_EQ(apiFeatureLevel(FeatureLevel::FL8), ANEURALNETWORKS_FEATURE_LEVEL_8);
  EXPECT_EQ(featureLevelName(FeatureLevel::FL3), "feature level 3 (HAL 1.2)");
  EXPECT_EQ(halVersionFromName("1.3"), HalVersion::V1_3);
  EXPECT_FALSE(halVersionFromName("1.4").has_value());
}

}  // namespace
}  // namespace halyard

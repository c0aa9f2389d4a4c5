// Tests of model validation. Each test breaks one rule and checks that the error names the cause.
#include "model/validation/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace halyard {
namespace {

using ::testing::HasSubstr;

Operand tensor(Lifetime lifetime, Shape dims = {2}) {
  Operand operand;
  operand.type = OperandType::TENSOR_FLOAT32;
  operand.dimensions = std::move(dims);
  operand.lifetime = lifetime;
  return operand;
}

// out = (a + b) + a, in two operations. Operands: 0 a, 1 b, 2 activation, 3 temporary, 4 out.
Model twoAdds() {
  Model model;
  const int32_t none = 0;
  Operand activation;
  activation.type = OperandType::INT32;
  activation.lifetime = Lifetime::CONSTANT_COPY;
  activation.location = appendConstant(model, &none, sizeof(none));
  model.main.operands = {tensor(Lifetime::SUBGRAPH_INPUT), tensor(Lifetime::SUBGRAPH_INPUT),
                         activation, tensor(Lifetime::TEMPORARY_VARIABLE),
                         tensor(Lifetime::SUBGRAPH_OUTPUT)};
  model.main.operations = {{OperationType::ADD, {0, 1, 2}, {3}},
                           {OperationType::ADD, {3, 0, 2}, {4}}};
  model.main.inputIndexes = {0, 1};
  model.main.outputIndexes = {4};
  return model;
}

TEST(Validation, AcceptsAndTellsTheLevel) {
  Model model = twoAdds();
  Result<FeatureLevel> level = validateModel(model);
  ASSERT_TRUE(level.ok()) << level.status().toString();
  EXPECT_EQ(*level, FeatureLevel::FL1);
  // Broadcasting a tensor of unknown rank needs HAL 1.2.
  model.main.operands[3].dimensions = {};
  level = validateModel(model);
  ASSERT_TRUE(level.ok()) << level.status().toString();
  EXPECT_EQ(*level, FeatureLevel::FL3);
  const ValidModel valid = validated(model).value();
  EXPECT_EQ(valid.level(), FeatureLevel::FL3);
  EXPECT_TRUE(checkForLevel(valid, FeatureLevel::FL3).ok());
  const Status old = checkForLevel(valid, FeatureLevel::FL2);
  EXPECT_EQ(old.code(), ResultCode::BAD_DATA);
  EXPECT_THAT(old.message(), HasSubstr("operation #0 ADD needs feature level 3 (HAL 1.2)"));
}

// The exemption holds for this model and this thread only, and only while the object exists.
TEST(Validation, OnlyTheValidationMakesAValidModel) {
  static_assert(!std::is_constructible_v<ValidModel, std::shared_ptr<const Model>, FeatureLevel>);
  static_assert(!std::is_default_constructible_v<ValidModel>);
  const auto model = std::make_shared<const Model>(twoAdds());
  const Result<ValidModel> valid = validated(model);
  ASSERT_TRUE(valid.ok()) << valid.status().toString();
  EXPECT_EQ(valid->share(), model);
  EXPECT_EQ(valid->level(), FeatureLevel::FL1);
  Model broken = twoAdds();
  broken.main.operations[0].inputs[0] = 99;
  EXPECT_EQ(validated(std::move(broken)).status().code(), ResultCode::BAD_DATA);
  EXPECT_EQ(validated(std::shared_ptr<const Model>()).status().code(), ResultCode::BAD_DATA);
}

struct Mutation {
  const char* name;
  std::function<void(Model&)> apply;
  const char* text;
};

class BadModel : public ::testing::TestWithParam<Mutation> {};

TEST_P(BadModel, IsRefusedWithAText) {
  Model model = twoAdds();
  GetParam().apply(model);
  const Result<FeatureLevel> level = validateModel(model);
  ASSERT_FALSE(level.ok());
  EXPECT_EQ(level.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(level.status().message(), HasSubstr(GetParam().text));
}

const Mutation kMutations[] = {
    {"NoOperations", [](Model& m) { m.main.operations.clear(); }, "no operations"},
    {"NoOperands", [](Model& m) { m.main = {}; }, "no operands"},
    {"UnknownType", [](Model& m) { m.main.operands[3].type = static_cast<OperandType>(16); },
     "operand #3: unknown type 16"},
    {"ScalarWithDimensions", [](Model& m) { m.main.operands[2].dimensions = {1}; },
     "operand #2: INT32 is a scalar"},
    {"ScaleOfFloat", [](Model& m) { m.main.operands[0].scale = 1; },
     "operand #0: TENSOR_FLOAT32 with scale 1, expected 0"},
    {"ZeroPointOfFloat", [](Model& m) { m.main.operands[0].zeroPoint = 1; }, "zero point 1"},
    {"ConstantOutside", [](Model& m) { m.main.operands[2].location.offset = 1; },
     "operand #2: constant at bytes 1 to 5 of 4"},
    {"ConstantOffsetWraps", [](Model& m) { m.main.operands[2].location.offset = 0xFFFFFFFF; },
     "operand #2: constant at bytes 4294967295 to 4294967299"},
    {"ConstantOfWrongSize", [](Model& m) { m.main.operands[2].location.length = 3; },
     "a constant of 3 bytes, its type and dimensions need 4"},
    {"ConstantInMissingPool",
     [](Model& m) { m.main.operands[2].lifetime = Lifetime::CONSTANT_REFERENCE; },
     "constant in pool 0 of 0 pools"},
    {"TemporaryWithLocation", [](Model& m) { m.main.operands[3].location.length = 4; },
     "TEMPORARY_VARIABLE with the location of a constant"},
    {"UnknownLifetime", [](Model& m) { m.main.operands[3].lifetime = static_cast<Lifetime>(9); },
     "unknown lifetime 9"},
    {"SubgraphLifetimeOfTensor", [](Model& m) { m.main.operands[3].lifetime = Lifetime::SUBGRAPH; },
     "type TENSOR_FLOAT32 with lifetime SUBGRAPH"},
    {"PerChannelParamsOfFloat",
     [](Model& m) {
       m.main.operands[0].extraParams = SymmPerChannelQuantParams{{1}, 0};
     },
     "TENSOR_FLOAT32 with per-channel quantisation parameters"},
    {"InputIndexOutside", [](Model& m) { m.main.inputIndexes[0] = 5; }, "operand #5 of 5"},
    {"InputListedTwice", [](Model& m) { m.main.inputIndexes.push_back(0); }, "listed twice"},
    {"InputNotListed", [](Model& m) { m.main.inputIndexes = {0}; }, "is not in the list"},
    {"OutputOfWrongLifetime", [](Model& m) { m.main.outputIndexes = {3}; },
     "operand #3 with lifetime TEMPORARY_VARIABLE"},
    {"OperationInputOutside", [](Model& m) { m.main.operations[1].inputs[0] = 77; },
     "operation #1 ADD: input 0 is operand #77 of 5"},
    {"OperationOutputOutside", [](Model& m) { m.main.operations[0].outputs[0] = 5; },
     "operation #0 ADD: output 0 is operand #5 of 5"},
    {"UnknownOperation",
     [](Model& m) { m.main.operations[0].type = static_cast<OperationType>(106); },
     "operation #0 unknown operation 106"},
    {"WrongOrder", [](Model& m) { std::swap(m.main.operations[0], m.main.operations[1]); },
     "operation #0 ADD reads operand #3 before it is written"},
    {"TwoWriters", [](Model& m) { m.main.operations.push_back(m.main.operations[0]); },
     "operation #2 ADD writes operand #3, which has a value already"},
    {"WritesInput", [](Model& m) { m.main.operations[0].outputs[0] = 1; },
     "writes operand #1, which has a value already (SUBGRAPH_INPUT)"},
    {"NeverWritten",
     [](Model& m) { m.main.operands.push_back(tensor(Lifetime::TEMPORARY_VARIABLE)); },
     "operand #5 (TEMPORARY_VARIABLE) is never written"},
    {"MissingInput", [](Model& m) { m.main.operations[0].inputs.pop_back(); },
     "operation #0 ADD: takes 3 inputs, has 2"},
    {"SurplusOutput", [](Model& m) { m.main.operations[1].outputs.push_back(3); },
     "operation #1 ADD: has 2 outputs, expected 1"},
    {"ExtensionNameWithoutDot",
     [](Model& m) {
       m.extensionNameToPrefix = {{"vendor", 1}};
     },
     "no legal name"},
    {"ExtensionWithThePrefixOfOurs",
     [](Model& m) {
       m.extensionNameToPrefix = {{"com.acme", kTfliteExtensionPrefix}};
     },
     "extension 'com.acme' has prefix 0x7fff; 0x7fff is the prefix of 'halyard.tflite' and no "
     "other"},
    {"OurExtensionWithAnotherPrefix",
     [](Model& m) {
       m.extensionNameToPrefix = {{"halyard.tflite", 1}};
     },
     "extension 'halyard.tflite' has prefix 0x1; "},
    {"OperationOfOurExtensionWithOtherOperands",
     [](Model& m) { m.main.operations[0].type = OperationType::ROUND_TO_DYNAMIC_RANGE; },
     "operation #0 ROUND_TO_DYNAMIC_RANGE: takes 2 inputs, has 3"},
    {"NullPool", [](Model& m) { m.pools.push_back(nullptr); }, "pool 0 has no file descriptor"},
    {"ReferencedSubgraphInvalid", [](Model& m) { m.referenced.emplace_back(); },
     "referenced subgraph 0: there are no operands"},
};

INSTANTIATE_TEST_SUITE_P(All, BadModel, ::testing::ValuesIn(kMutations),
                         [](const auto& tested) { return tested.param.name; });

TEST(Validation, ConstantInPoolIsCheckedAgainstThePool) {
  Model model = twoAdds();
  Result<SharedMemoryPtr> pool = SharedMemory::create(64, "test");
  ASSERT_TRUE(pool.ok());
  model.pools = {*pool};
  model.main.operands[2].lifetime = Lifetime::CONSTANT_REFERENCE;
  model.main.operands[2].location = {0, 60, 4};
  EXPECT_TRUE(validateModel(model).ok());
  model.main.operands[2].location = {0, 61, 4};
  EXPECT_THAT(validateModel(model).status().message(), HasSubstr("of a pool of 64 bytes"));
}

TEST(Validation, CyclesOfSubgraphsAreRefused) {
  Model model = twoAdds();
  Operand reference;
  reference.type = OperandType::MODEL;
  reference.lifetime = Lifetime::SUBGRAPH;
  model.referenced = {model.main, model.main};
  reference.location.offset = 1;
  model.referenced[0].operands.push_back(reference);
  reference.location.offset = 0;
  model.referenced[1].operands.push_back(reference);
  model.main.operands.push_back(reference);
  EXPECT_THAT(validateModel(model).status().message(), HasSubstr("refers to itself in a cycle"));
}

TEST(Validation, OperandTypesHaveTheirQuantisationRules) {
  using enum OperandType;
  const auto text = [](OperandType type, float scale, int32_t zeroPoint) {
    return validateOperandType(type, {2}, scale, zeroPoint).message();
  };
  EXPECT_EQ(text(TENSOR_QUANT8_ASYMM, 0.1F, 255), "");
  EXPECT_THAT(text(TENSOR_QUANT8_ASYMM, 0.1F, 256), HasSubstr("expected 0 to 255"));
  EXPECT_THAT(text(TENSOR_QUANT8_ASYMM, 0, 0), HasSubstr("expected more than 0"));
  EXPECT_THAT(text(TENSOR_QUANT8_ASYMM_SIGNED, 0.1F, -129), HasSubstr("expected -128 to 127"));
  EXPECT_THAT(text(TENSOR_QUANT16_SYMM, 0.1F, 1), HasSubstr("zero point 1"));
  EXPECT_THAT(text(TENSOR_INT32, -1, 0), HasSubstr("expected 0 or more"));
  EXPECT_EQ(text(TENSOR_INT32, 0.5F, 0), "");
  EXPECT_THAT(text(TENSOR_QUANT8_ASYMM, std::numeric_limits<float>::quiet_NaN(), 0),
              HasSubstr("expected more than 0"));
  EXPECT_THAT(text(TENSOR_QUANT8_ASYMM, std::numeric_limits<float>::infinity(), 0),
              HasSubstr("expected more than 0"));
}

}  // namespace
}  // namespace halyard

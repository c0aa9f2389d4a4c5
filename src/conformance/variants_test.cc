// Tests of each variant's changes to a case.
#include "conformance/variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "conformance/case_for_test.h"
#include "model/validation/validation.h"

namespace halyard::conformance {
namespace {

using testing::addLine;
using ::testing::ElementsAre;
using testing::parsed;

VectorCase applied(VectorCase vectorCase, Variant variant) {
  auto result = applyVariant(std::move(vectorCase), variant);
  EXPECT_TRUE(result.ok()) << result.status().toString();
  return std::move(result).value();
}

// A case that passes one operand through RELU. No test computes it.
VectorCase withInput(OperandType type, Shape dims, size_t bytes, float scale = 0,
                     int32_t zeroPoint = 0) {
  VectorCase vectorCase;
  Operand operand;
  operand.type = type;
  operand.dimensions = std::move(dims);
  operand.scale = scale;
  operand.zeroPoint = zeroPoint;
  operand.lifetime = Lifetime::SUBGRAPH_INPUT;
  Operand output = operand;
  output.lifetime = Lifetime::SUBGRAPH_OUTPUT;
  vectorCase.model.main.operands = {operand, output};
  vectorCase.model.main.operations = {{OperationType::RELU, {0}, {1}}};
  vectorCase.model.main.inputIndexes = {0};
  vectorCase.model.main.outputIndexes = {1};
  vectorCase.inputs = {{std::vector<uint8_t>(bytes, 1), false}};
  vectorCase.outputs = {{std::vector<uint8_t>(bytes, 1), output.dimensions, false}};
  return vectorCase;
}

TEST(Variants, TableIsInOrderAndNamesAreUnique) {
  std::set<std::string_view> names;
  for (const VariantTraits& traits : allVariants()) {
    EXPECT_EQ(&traitsOf(traits.variant), &traits);
    EXPECT_EQ(variantFromName(traits.name), traits.variant);
    EXPECT_TRUE(names.insert(traits.name).second);
    EXPECT_FALSE(traits.description.empty());
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(Variant::FENCED) + 1);
  EXPECT_FALSE(variantFromName("Plain").has_value());
}

TEST(Variants, OpenOutputShapes) {
  const VectorCase plain = parsed(addLine("c", {1, 2}, {1, 2}, {2, 4}));
  EXPECT_THAT(applied(plain, Variant::PLAIN).model.main.operands[3].dimensions, ElementsAre(2));
  const VectorCase dims = applied(plain, Variant::UNKNOWN_DIMENSIONS);
  EXPECT_THAT(dims.model.main.operands[3].dimensions, ElementsAre(0));
  EXPECT_THAT(dims.outputs[0].dims, ElementsAre(2));
  EXPECT_TRUE(applied(plain, Variant::UNKNOWN_RANK).model.main.operands[3].dimensions.empty());
  const VectorCase failing =
      parsed(addLine("c", {1, 2}, {1, 2}, {2, 4}, R"("expect_failure":true,)"));
  EXPECT_THAT(applied(failing, Variant::UNKNOWN_RANK).model.main.operands[3].dimensions,
              ElementsAre(2));
}

TEST(Variants, RelaxedChangesModelAndTolerance) {
  const VectorCase relaxed = applied(parsed(addLine("c", {1}, {1}, {2})), Variant::RELAXED);
  EXPECT_TRUE(relaxed.relaxed);
  EXPECT_TRUE(relaxed.model.relaxComputationFloat32toFloat16);
}

TEST(Variants, PoolsHoldEveryConstant) {
  VectorCase plain = parsed(addLine("c", {1, 2}, {3, 4}, {4, 6}));
  plain.model.referenced = {plain.model.main};
  const VectorCase pooled = applied(plain, Variant::POOLS);
  ASSERT_EQ(pooled.model.pools.size(), 1u);
  const auto mapping = pooled.model.pools[0]->map();
  ASSERT_TRUE(mapping.ok());
  for (const Subgraph* subgraph : {&pooled.model.main, &pooled.model.referenced[0]}) {
    const Operand& constant = subgraph->operands[1];
    EXPECT_EQ(constant.lifetime, Lifetime::CONSTANT_REFERENCE);
    EXPECT_EQ(constant.location.offset % 4, 0u);
    float values[2];
    ASSERT_EQ(constant.location.length, sizeof values);
    std::memcpy(values, mapping->data() + constant.location.offset, sizeof values);
    EXPECT_THAT(values, ElementsAre(3, 4));
    EXPECT_EQ(subgraph->operands[2].lifetime, Lifetime::CONSTANT_REFERENCE);
  }
  EXPECT_TRUE(validateModel(pooled.model).ok());
}

TEST(Variants, InternalInputsAddTheNegativeZero) {
  const VectorCase changed =
      applied(parsed(addLine("c", {1, 2}, {3, 4}, {4, 6})), Variant::INTERNAL_INPUTS);
  const Model& model = changed.model;
  ASSERT_EQ(model.main.operations.size(), 2u);
  const Operation& inserted = model.main.operations[0];
  EXPECT_EQ(operationTypeName(inserted.type), "ADD");
  EXPECT_THAT(inserted.outputs, ElementsAre(0));
  EXPECT_EQ(model.main.operands[0].lifetime, Lifetime::TEMPORARY_VARIABLE);
  EXPECT_EQ(model.main.inputIndexes[0], inserted.inputs[0]);
  EXPECT_EQ(model.main.operands[inserted.inputs[0]].lifetime, Lifetime::SUBGRAPH_INPUT);
  const Operand& zero = model.main.operands[inserted.inputs[1]];
  EXPECT_THAT(zero.dimensions, ElementsAre(1));
  uint32_t bits = 0;
  std::memcpy(&bits, model.operandValues.data() + zero.location.offset, sizeof bits);
  EXPECT_EQ(bits, 0x80000000u);
  EXPECT_TRUE(validateModel(model).ok()) << validateModel(model).status().toString();
}

TEST(Variants, InternalInputsByType) {
  const auto insertedFor = [](VectorCase vectorCase) -> std::string {
    const VectorCase changed = applied(std::move(vectorCase), Variant::INTERNAL_INPUTS);
    if (changed.model.main.operations.size() == 1) return "";
    return operationTypeName(changed.model.main.operations[0].type);
  };
  EXPECT_EQ(insertedFor(withInput(OperandType::TENSOR_FLOAT16, {2}, 4)), "ADD");
  EXPECT_EQ(insertedFor(withInput(OperandType::TENSOR_FLOAT32, {1, 1, 1, 1, 1}, 4)), "CAST");
  EXPECT_EQ(insertedFor(withInput(OperandType::TENSOR_BOOL8, {2}, 2)), "CAST");
  EXPECT_EQ(insertedFor(withInput(OperandType::TENSOR_INT32, {2}, 8)), "CAST");
  EXPECT_EQ(insertedFor(withInput(OperandType::TENSOR_QUANT16_SYMM, {2}, 4, 1)), "CAST");
  EXPECT_EQ(insertedFor(withInput(OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL, {2}, 2)), "");
  EXPECT_EQ(insertedFor(withInput(OperandType::INT32, {}, 4)), "");
  VectorCase omitted = withInput(OperandType::TENSOR_FLOAT32, {2}, 0);
  omitted.inputs[0].omitted = true;
  EXPECT_EQ(insertedFor(omitted), "");
  EXPECT_EQ(insertedFor(withInput(OperandType::TENSOR_FLOAT32, {0}, 0)), "");

  const VectorCase quantised =
      applied(withInput(OperandType::TENSOR_QUANT8_ASYMM_SIGNED, {3}, 3, 0.5f, -7),
              Variant::INTERNAL_INPUTS);
  const Operation& add = quantised.model.main.operations[0];
  const Operand& zero = quantised.model.main.operands[add.inputs[1]];
  EXPECT_EQ(zero.scale, 0.5f);
  EXPECT_EQ(static_cast<int8_t>(quantised.model.operandValues[zero.location.offset]), -7);
  EXPECT_EQ(quantised.model.main.operands[add.outputs[0]].zeroPoint, -7);
}

}  // namespace
}  // namespace halyard::conformance

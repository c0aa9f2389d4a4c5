// Tests of the places that the finished model has for values given by pointer.
#include "runtime/model/model_builder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "cpu/cpu_device.h"
#include "model/validation/validation.h"
#include "runtime/cache/cache_key.h"
#include "runtime/partition/step_model.h"

namespace halyard::runtime {
namespace {

// x + values[0] + values[1] + ..., each of `size` floats.
std::shared_ptr<const Model> sumOf(const std::vector<const float*>& values, uint32_t size) {
  static ExtensionRegistry registry;
  ModelBuilder builder(registry);
  uint32_t operands = 0;
  const auto add = [&](OperandType type, Shape dims) {
    EXPECT_TRUE(builder.addOperand(type, std::move(dims), 0, 0).ok());
    return operands++;
  };
  const uint32_t none = add(OperandType::INT32, {});
  const int32_t zero = 0;
  EXPECT_TRUE(builder.setOperandValue(none, &zero, sizeof(zero)).ok());
  const uint32_t x = add(OperandType::TENSOR_FLOAT32, {size});
  uint32_t sum = x;
  for (const float* value : values) {
    const uint32_t constant = add(OperandType::TENSOR_FLOAT32, {size});
    EXPECT_TRUE(builder.setOperandValue(constant, value, size * sizeof(float)).ok());
    const uint32_t y = add(OperandType::TENSOR_FLOAT32, {size});
    const uint32_t inputs[] = {sum, constant, none};
    EXPECT_TRUE(builder.addOperation(OperationType::ADD, inputs, {&y, 1}).ok());
    sum = y;
  }
  EXPECT_TRUE(builder.identifyInputsAndOutputs({&x, 1}, {&sum, 1}).ok());
  const Status status = builder.finish();
  EXPECT_TRUE(status.ok()) << status.toString();
  return builder.model().share();
}

std::vector<float> valueOf(const Model& model, uint32_t index) {
  const Operand& operand = model.main.operands[index];
  std::vector<float> value(operand.location.length / sizeof(float));
  if (operand.lifetime == Lifetime::CONSTANT_COPY) {
    std::memcpy(value.data(), model.operandValues.data() + operand.location.offset,
                operand.location.length);
    return value;
  }
  EXPECT_EQ(operand.lifetime, Lifetime::CONSTANT_REFERENCE);
  const Result<const Mapping*> pool = model.pools[operand.location.poolIndex]->mapped();
  EXPECT_TRUE(pool.ok());
  std::memcpy(value.data(), (*pool)->data() + operand.location.offset, operand.location.length);
  return value;
}

TEST(ModelBuilder, ValuesOfUpToAPageTogetherAreInTheModel) {
  for (const uint32_t size : {20, 512, 513}) {
    std::vector<float> first(size);
    std::iota(first.begin(), first.end(), 1.0f);
    std::vector<float> second(size, 0.5f);
    const auto model = sumOf({first.data(), second.data()}, size);
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->pools.size(), size <= 512 ? 0u : 1u) << size;
    EXPECT_EQ(valueOf(*model, 2), first);
    EXPECT_EQ(valueOf(*model, 4), second);
  }
}

TEST(ModelBuilder, ValuesFromTheSameMemoryAreThereOnce) {
  for (const uint32_t size : {800, 2000}) {
    const std::vector<float> value(size, 0.25f);
    const auto model = sumOf({value.data(), value.data(), value.data()}, size);
    ASSERT_NE(model, nullptr);
    const size_t bytes = size * sizeof(float);
    if (bytes <= 4096) {
      EXPECT_TRUE(model->pools.empty());
    } else {
      ASSERT_EQ(model->pools.size(), 1u);
      EXPECT_EQ(model->pools[0]->size(), bytes);
    }
    for (const uint32_t constant : {2, 4, 6}) EXPECT_EQ(valueOf(*model, constant), value);
  }
}

// An operation is checked when it is added. The facts that it depends on may change later.
TEST(ModelBuilder, ChangesAfterAnOperationAreValidated) {
  static ExtensionRegistry registry;
  for (const int32_t late : {0, 2, 3}) {  // number of parts to set later; 0: set before
    ModelBuilder builder(registry);
    const auto add = [&builder](OperandType type, Shape dims) {
      EXPECT_TRUE(builder.addOperand(type, std::move(dims), 0, 0).ok());
    };
    add(OperandType::TENSOR_FLOAT32, {4});
    add(OperandType::INT32, {});
    add(OperandType::INT32, {});
    add(OperandType::TENSOR_FLOAT32, {2});
    add(OperandType::TENSOR_FLOAT32, {2});
    const int32_t axis = 0;
    const int32_t two = 2;
    EXPECT_TRUE(builder.setOperandValue(1, &axis, sizeof(axis)).ok());
    if (late == 0) {
      EXPECT_TRUE(builder.setOperandValue(2, &two, sizeof(two)).ok());
    }
    const uint32_t inputs[] = {0, 1, 2};
    const uint32_t outputs[] = {3, 4};
    EXPECT_TRUE(builder.addOperation(OperationType::SPLIT, inputs, outputs).ok());
    if (late != 0) {
      EXPECT_TRUE(builder.setOperandValue(2, &late, sizeof(late)).ok());
    }
    EXPECT_TRUE(builder.identifyInputsAndOutputs({inputs, 1}, outputs).ok());
    const Status status = builder.finish();
    EXPECT_EQ(status.ok(), late != 3) << status.toString();
  }
}

// SOFTMAX of operand 0 with beta 1 and the axis: operands 1, 2 and 3.
void buildSoftmax(ModelBuilder& builder, int32_t axis) {
  const float beta = 1;
  EXPECT_TRUE(builder.addOperand(OperandType::TENSOR_FLOAT32, {2, 4}, 0, 0).ok());
  EXPECT_TRUE(builder.addOperand(OperandType::FLOAT32, {}, 0, 0).ok());
  EXPECT_TRUE(builder.addOperand(OperandType::INT32, {}, 0, 0).ok());
  EXPECT_TRUE(builder.addOperand(OperandType::TENSOR_FLOAT32, {2, 4}, 0, 0).ok());
  EXPECT_TRUE(builder.setOperandValue(1, &beta, sizeof beta).ok());
  const uint32_t inputs[] = {0, 1, 2};
  const uint32_t output = 3;
  EXPECT_TRUE(builder.addOperation(OperationType::SOFTMAX, inputs, {&output, 1}).ok());
  // The last value counts.
  EXPECT_TRUE(builder.setOperandValue(2, &axis, sizeof axis).ok());
  EXPECT_TRUE(builder.identifyInputsAndOutputs({inputs, 1}, {&output, 1}).ok());
  const Status status = builder.finish();
  EXPECT_TRUE(status.ok()) << status.toString();
}

TEST(ModelBuilder, TrailingInputsWithTheirDefaultsAreLeftOut) {
  static ExtensionRegistry registry;
  ModelBuilder last(registry);
  buildSoftmax(last, -1);
  ASSERT_TRUE(last.checkFinished().ok());
  EXPECT_EQ(last.model()->main.operations[0].inputs, (OperandIndexes{0, 1}));
  // The application's indices of operands stay.
  EXPECT_EQ(last.model()->main.operands.size(), 4u);
  EXPECT_EQ(last.model()->main.outputIndexes, (OperandIndexes{3}));
  // Devices get no trace of it, and a model as old as the operation.
  const auto part = subgraphAsModel(last.model(), kMainSubgraph);
  EXPECT_EQ(part->main.operands.size(), 3u);
  EXPECT_EQ(validateModel(*part).value(), FeatureLevel::FL1);

  ModelBuilder first(registry);
  buildSoftmax(first, 0);
  ASSERT_TRUE(first.checkFinished().ok());
  EXPECT_EQ(first.model()->main.operations[0].inputs, (OperandIndexes{0, 1, 2}));
}

TEST(ModelBuilder, InputsWithTheirDefaultsAreLeftOutOfReferencedModels) {
  static ExtensionRegistry registry;
  ModelBuilder inner(registry);
  buildSoftmax(inner, -1);
  ModelBuilder outer(registry);
  EXPECT_TRUE(outer.addOperand(OperandType::TENSOR_BOOL8, {1}, 0, 0).ok());
  EXPECT_TRUE(outer.addOperand(OperandType::MODEL, {}, 0, 0).ok());
  EXPECT_TRUE(outer.addOperand(OperandType::TENSOR_FLOAT32, {2, 4}, 0, 0).ok());
  EXPECT_TRUE(outer.addOperand(OperandType::TENSOR_FLOAT32, {2, 4}, 0, 0).ok());
  EXPECT_TRUE(outer.setOperandValueFromModel(1, inner).ok());
  const uint32_t inputs[] = {0, 1, 1, 2};
  const uint32_t modelInputs[] = {0, 2};
  const uint32_t output = 3;
  EXPECT_TRUE(outer.addOperation(OperationType::IF, inputs, {&output, 1}).ok());
  EXPECT_TRUE(outer.identifyInputsAndOutputs(modelInputs, {&output, 1}).ok());
  const Status status = outer.finish();
  ASSERT_TRUE(status.ok()) << status.toString();
  EXPECT_EQ(outer.model()->referenced.at(0).operations[0].inputs, (OperandIndexes{0, 1}));
}

// A cache treats compilations of the two forms as one.
TEST(ModelBuilder, ACacheKnowsNoInputsWithTheirDefaults) {
  static ExtensionRegistry registry;
  ModelBuilder longer(registry);
  buildSoftmax(longer, -1);
  ModelBuilder shorter(registry);
  const float beta = 1;
  EXPECT_TRUE(shorter.addOperand(OperandType::TENSOR_FLOAT32, {2, 4}, 0, 0).ok());
  EXPECT_TRUE(shorter.addOperand(OperandType::FLOAT32, {}, 0, 0).ok());
  EXPECT_TRUE(shorter.addOperand(OperandType::TENSOR_FLOAT32, {2, 4}, 0, 0).ok());
  EXPECT_TRUE(shorter.setOperandValue(1, &beta, sizeof beta).ok());
  const uint32_t inputs[] = {0, 1};
  const uint32_t output = 2;
  EXPECT_TRUE(shorter.addOperation(OperationType::SOFTMAX, inputs, {&output, 1}).ok());
  EXPECT_TRUE(shorter.identifyInputsAndOutputs({inputs, 1}, {&output, 1}).ok());
  ASSERT_TRUE(shorter.finish().ok());
  const hal::DeviceInfo device = cpu::cpuDeviceInfo();
  const hal::ExtensionAttributes attributes{};
  const auto keyOf = [&](const ModelBuilder& builder) {
    const auto model = subgraphAsModel(builder.model(), kMainSubgraph);
    CacheKeyParts parts;
    parts.model = &*model;
    parts.device = &device;
    parts.attributes = &attributes;
    ConstantDigests digests;
    return cacheKey(parts, digests).value();
  };
  EXPECT_EQ(keyOf(longer), keyOf(shorter));
}

}  // namespace
}  // namespace halyard::runtime

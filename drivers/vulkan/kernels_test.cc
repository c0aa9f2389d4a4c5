// Every operation of the device against the reference kernels, with random legal operands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/float16.h"
#include "case_for_test.h"
#include "cpu/model_for_test.h"
#include "kernels/kernel_list.h"
#include "ops/testing/searched_case.h"
#include "vulkan_driver.h"

namespace halyard::vulkandriver {
namespace {

using ops::testing::LegalCase;

class VulkanKernels : public ::testing::Test {
 protected:
  // One device for all tests, as in a driver.
  static void SetUpTestSuite() {
    const std::string arguments[] = {"--software"};
    auto made = makeVulkanDriver(arguments);
    if (made.ok()) {
      device_ = *made;
    } else {
      reason_ = made.status().toString();
    }
  }
  static void TearDownTestSuite() { device_.reset(); }
  void SetUp() override {
    if (device_ == nullptr) GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED: " << reason_;
  }

  static std::shared_ptr<hal::Device> device_;
  static std::string reason_;
};
std::shared_ptr<hal::Device> VulkanKernels::device_;
std::string VulkanKernels::reason_;

// The case as a model. Lists of integers, which often decide shapes, are constants on request.
Model modelOf(const LegalCase& legal, bool hasConstantLists) {
  Model model = ops::testing::toModel(legal);
  for (uint32_t i = 0; i < legal.inputs.size() && hasConstantLists; ++i) {
    Operand& operand = model.main.operands[i];
    const bool isInput = operand.lifetime == Lifetime::SUBGRAPH_INPUT;
    if (!isInput || operand.type != OperandType::TENSOR_INT32) continue;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    operand.location =
        appendConstant(model, legal.inputs[i].bytes.data(), legal.inputs[i].bytes.size());
    std::erase(model.main.inputIndexes, i);
  }
  return model;
}

TEST(VulkanDriver, RefusesOtherArguments) {
  const std::string arguments[] = {"--hardware"};
  const auto made = makeVulkanDriver(arguments);
  EXPECT_EQ(made.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(made.status().message(), ::testing::HasSubstr("--hardware"));
}

// A shape that only an execution tells.
TEST_F(VulkanKernels, RefusalsHaveReasons) {
  Model model;
  Operand tensor;
  tensor.type = OperandType::TENSOR_FLOAT32;
  tensor.dimensions = {0, 4};
  tensor.lifetime = Lifetime::SUBGRAPH_INPUT;
  model.main.operands = {tensor, tensor};
  model.main.operands[1].lifetime = Lifetime::SUBGRAPH_OUTPUT;
  model.main.operations = {{OperationType::RELU, {0}, {1}}};
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {1};
  const auto valid = validated(model);
  ASSERT_TRUE(valid.ok()) << valid.status().toString();
  const auto supported = device_->getSupportedOperations(*valid);
  ASSERT_TRUE(supported.ok()) << supported.status().toString();
  ASSERT_EQ(supported->size(), 1u);
  EXPECT_FALSE((*supported)[0].supported);
  EXPECT_THAT((*supported)[0].reason, ::testing::HasSubstr("[?,4]"));
  EXPECT_FALSE(device_->prepareModel(*valid, {}).ok());
}

// Those of NNAPI, and of the extension halyard.tflite.
std::vector<OperationType> allOperations() {
  std::vector<OperationType> all;
  for (const uint32_t first : {0u, uint32_t{kTfliteExtensionPrefix} << 16}) {
    for (uint32_t code = first; ops::definitionOf(static_cast<OperationType>(code)) != nullptr;
         ++code) {
      all.push_back(static_cast<OperationType>(code));
    }
  }
  return all;
}

// Compares each of the operations with each list of its operands, `rounds` times with other
// numbers.
void checkOperations(hal::Device& device, unsigned rounds,
                     const std::vector<OperationType>& types = allOperations()) {
  size_t operations = 0;
  size_t cases = 0;
  for (const OperationType type : types) {
    if (kernelOf(type) == nullptr) continue;
    const ops::OperationDefinition& definition = *ops::definitionOf(type);
    size_t taken = 0;
    std::string refusal;
    for (const auto& variant : ops::testing::variantsOf(definition.signature)) {
      for (unsigned round = 0; round < rounds; ++round) {
        auto legal = ops::testing::triedCase(definition, variant, round);
        if (!legal.ok()) continue;
        const Model model = modelOf(*legal, round % 2 == 1);
        if (testing::check(device, model, *legal, &refusal)) ++taken;
        if (::testing::Test::HasFailure()) FAIL() << legal->text();
      }
    }
    EXPECT_GT(taken, 0u) << operationTypeName(type) << ": " << refusal;
    ++operations;
    cases += taken;
  }
  std::cout << operations << " operations, " << cases << " cases\n";
}

// They become constants before the kernels are chosen.
TEST_F(VulkanKernels, WeightsMayBeStoredInAnotherType) {
  using enum OperandType;
  cpu::testing::TestModel test;
  const uint32_t x = test.input({2, 3});
  const uint32_t y = test.output({2, 2});
  std::vector<uint16_t> halves;
  for (const float value : {1.0f, -2.0f, 0.5f, 4.0f, 0.25f, -1.0f}) {
    halves.push_back(toFloat16(value).bits);
  }
  const uint32_t stored = test.constant<uint16_t>(TENSOR_FLOAT16, {2, 3}, halves);
  const uint32_t bytes = test.constant<int8_t>(TENSOR_QUANT8_ASYMM_SIGNED, {2}, {4, -8});
  test.model().main.operands[bytes].scale = 0.5f;
  const uint32_t weights = test.temporary({2, 3});
  const uint32_t bias = test.temporary({2});
  test.operation(OperationType::CAST, {stored}, {weights})
      .operation(OperationType::DEQUANTIZE, {bytes}, {bias})
      .operation(OperationType::FULLY_CONNECTED, {x, weights, bias, test.int32(0)}, {y});
  const Result<ValidModel> model = validated(test.model());
  ASSERT_TRUE(model.ok()) << model.status().toString();
  const auto prepared = device_->prepareModel(*model, {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  std::vector<float> in = {1, 2, 3, 4, 5, 6};
  std::vector<float> out(4);
  hal::Request request;
  request.inputs = {testing::argumentFor(in)};
  request.outputs = {testing::argumentFor(out)};
  const hal::ExecutionResult result = (*prepared)->executeSynchronously(request, {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(out, ::testing::ElementsAre(0.5f, -2.5f, -1.0f, 7.25f));
}

TEST_F(VulkanKernels, AreTheReference) { checkOperations(*device_, 6); }

void checkWith(const std::string& argument,
               const std::vector<OperationType>& types = allOperations()) {
  const std::string arguments[] = {"--software", argument};
  const auto made = makeVulkanDriver(arguments);
  ASSERT_TRUE(made.ok()) << made.status().toString();
  checkOperations(**made, 3, types);
}

TEST_F(VulkanKernels, OfGpusAreTheReference) { checkWith("--gpu-shaders"); }
// Only products have forms with further arithmetic.
TEST_F(VulkanKernels, OfGpusWithAllArithmeticAreTheReference) {
  using enum OperationType;
  checkWith("--gpu-arithmetic",
            {CONV_2D, GROUPED_CONV_2D, FULLY_CONNECTED, TRANSPOSE_CONV_2D, BATCH_MATMUL});
}

}  // namespace
}  // namespace halyard::vulkandriver

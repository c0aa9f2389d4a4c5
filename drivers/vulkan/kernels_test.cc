// Every operation of the device against the reference kernels, with random legal operands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "case_for_test.h"
#include "kernels/kernel_list.h"
#include "ops/testing/searched_case.h"
#include "vulkan_driver.h"

namespace halyard::vulkandriver {
namespace {

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

// Compares each operation with each list of its operands, `rounds` times with other numbers.
void checkOperations(hal::Device& device, unsigned rounds) {
  size_t operations = 0;
  size_t cases = 0;
  for (int32_t code = 0; code < 106; ++code) {
    const auto type = static_cast<OperationType>(code);
    if (kernelOf(type) == nullptr) continue;
    const ops::OperationDefinition& definition = *ops::definitionOf(type);
    size_t taken = 0;
    for (const auto& variant : ops::testing::variantsOf(definition.signature)) {
      for (unsigned round = 0; round < rounds; ++round) {
        auto legal = ops::testing::triedCase(definition, variant, round);
        if (!legal.ok()) continue;
        if (testing::check(device, ops::testing::toModel(*legal), *legal)) ++taken;
        if (::testing::Test::HasFailure()) FAIL() << legal->text();
      }
    }
    EXPECT_GT(taken, 0u) << operationTypeName(type);
    ++operations;
    cases += taken;
  }
  std::cout << operations << " operations, " << cases << " cases\n";
}

TEST_F(VulkanKernels, AreTheReference) { checkOperations(*device_, 6); }

TEST_F(VulkanKernels, OfGpusAreTheReference) {
  const std::string arguments[] = {"--software", "--gpu-shaders"};
  const auto made = makeVulkanDriver(arguments);
  ASSERT_TRUE(made.ok()) << made.status().toString();
  checkOperations(**made, 2);
}

}  // namespace
}  // namespace halyard::vulkandriver

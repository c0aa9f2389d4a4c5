// Every operation of the device against the reference kernels, with random legal operands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "accuracy/accuracy.h"
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

hal::RequestArgument argumentFor(std::vector<uint8_t>& bytes) {
  hal::RequestArgument made;
  made.kind = hal::RequestArgument::Kind::POINTER;
  made.pointer = bytes.data();
  made.length = static_cast<uint32_t>(bytes.size());
  return made;
}

bool isQuantised(OperandType type) {
  return isQuant8Asymm(type) || type == OperandType::TENSOR_QUANT8_SYMM;
}

// The outputs must be those of the reference kernel: bytes exactly, or within one between pixels;
// floats within the limits for devices.
void compare(const Model& model, const ops::testing::TestOperand& expected,
             const std::vector<uint8_t>& actual) {
  const OperandType type = expected.tensor.type;
  // Products of weights are rounded in another order, which moves a tie.
  const bool mayDiffer = model.main.operations[0].type == OperationType::RESIZE_BILINEAR;
  if (isQuantised(type)) {
    for (size_t i = 0; i < actual.size(); ++i) {
      const double difference = accuracy::elementNumber(type, actual, i) -
                                accuracy::elementNumber(type, expected.bytes, i);
      ASSERT_LE(std::abs(difference), mayDiffer ? 1 : 0) << "element " << i;
    }
    return;
  }
  const accuracy::Comparison comparison = accuracy::compareValues(
      type, accuracy::criteriaFor(type, accuracy::scopeOf(model), false), expected.bytes, actual);
  ASSERT_FALSE(comparison.failed) << comparison.text;
}

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

// Whether the device takes the case; otherwise `refusal` is its reason. Its results are then
// compared.
bool check(hal::Device& device, LegalCase& legal, bool hasConstantLists, std::string& refusal) {
  const Result<ValidModel> model = validated(modelOf(legal, hasConstantLists));
  if (!model.ok()) return false;
  const auto supported = device.getSupportedOperations(*model);
  EXPECT_TRUE(supported.ok()) << supported.status().toString();
  if (!supported.ok() || !hal::supportsAll(*supported)) {
    refusal = supported.ok() ? supported->front().reason : supported.status().toString();
    return false;
  }
  const auto prepared = device.prepareModel(*model, {});
  EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
  if (!prepared.ok()) return false;
  hal::Request request;
  const Subgraph& main = (*model)->main;
  for (const uint32_t input : main.inputIndexes) {
    request.inputs.push_back(argumentFor(legal.inputs[input].bytes));
  }
  std::vector<std::vector<uint8_t>> results;
  for (const auto& output : legal.outputs) {
    results.emplace_back(output.bytes.size(), uint8_t{0xa5});
  }
  for (auto& result : results) request.outputs.push_back(argumentFor(result));
  const hal::ExecutionResult result = (*prepared)->executeSynchronously(request, {});
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  for (size_t i = 0; i < results.size() && result.status.ok(); ++i) {
    if (std::ranges::find(legal.unspecifiedOutputs, i) != legal.unspecifiedOutputs.end()) continue;
    compare(**model, legal.outputs[i], results[i]);
  }
  return true;
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

TEST_F(VulkanKernels, AreTheReference) {
  constexpr unsigned kRounds = 6;
  size_t operations = 0;
  size_t cases = 0;
  for (int32_t code = 0; code < 106; ++code) {
    const auto type = static_cast<OperationType>(code);
    if (kernelOf(type) == nullptr) continue;
    const ops::OperationDefinition& definition = *ops::definitionOf(type);
    size_t taken = 0;
    std::string refusal;
    for (const auto& variant : ops::testing::variantsOf(definition.signature)) {
      for (unsigned round = 0; round < kRounds; ++round) {
        auto legal = ops::testing::triedCase(definition, variant, round);
        if (!legal.ok()) continue;
        if (check(*device_, *legal, round % 2 == 1, refusal)) ++taken;
        if (HasFailure()) FAIL() << legal->text();
      }
    }
    EXPECT_GT(taken, 0u) << operationTypeName(type) << ": " << refusal;
    ++operations;
    cases += taken;
  }
  RecordProperty("operations", static_cast<int>(operations));
  RecordProperty("cases", static_cast<int>(cases));
  std::cout << operations << " operations, " << cases << " cases\n";
}

}  // namespace
}  // namespace halyard::vulkandriver

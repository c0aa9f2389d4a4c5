#include "validation/random_graphs/bisect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/hal_target.h"
#include "cpu/cpu_device.h"
#include "drivers/reference/personality_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "validation/random_graphs/generator.h"

namespace halyard::random_graphs {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<conformance::Target> targetOf(std::shared_ptr<hal::Device> device) {
  return conformance::makeHalTarget(std::make_shared<hal::ClientSession>(
      std::move(device), std::make_shared<hal::SessionServices>()));
}

std::unique_ptr<conformance::Target> targetOf(const std::string& personality) {
  auto parsed = drivers::parsePersonality(personality);
  EXPECT_TRUE(parsed.ok()) << parsed.status().toString();
  auto device = drivers::makePersonalityDevice(std::move(*parsed));
  EXPECT_TRUE(device.ok());
  return targetOf(std::move(*device));
}

// a, then MUL, ADD, TANH, MUL, ADD: float32[16].
conformance::VectorCase chain() {
  conformance::VectorCase result;
  Subgraph& main = result.model.main;
  const auto tensor = [&](Lifetime lifetime) {
    Operand operand;
    operand.type = OperandType::TENSOR_FLOAT32;
    operand.dimensions = {16};
    operand.lifetime = lifetime;
    main.operands.push_back(operand);
    return static_cast<uint32_t>(main.operands.size() - 1);
  };
  const uint32_t input = tensor(Lifetime::SUBGRAPH_INPUT);
  main.inputIndexes = {input};
  std::vector<float> values(16);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.1F * static_cast<float>(i + 1);
  const uint32_t constant = tensor(Lifetime::CONSTANT_COPY);
  main.operands[constant].location = appendConstant(result.model, values.data(), 64);
  Operand none;
  none.type = OperandType::INT32;
  none.lifetime = Lifetime::CONSTANT_COPY;
  const int32_t zero = 0;
  none.location = appendConstant(result.model, &zero, sizeof zero);
  main.operands.push_back(none);
  const auto activation = static_cast<uint32_t>(main.operands.size() - 1);
  uint32_t last = input;
  for (const OperationType type : {OperationType::MUL, OperationType::ADD, OperationType::TANH,
                                   OperationType::MUL, OperationType::ADD}) {
    const uint32_t next = tensor(Lifetime::TEMPORARY_VARIABLE);
    std::vector<uint32_t> inputs = {last, constant, activation};
    if (type == OperationType::TANH) inputs = {last};
    main.operations.push_back({type, inputs, {next}});
    last = next;
  }
  main.operands[last].lifetime = Lifetime::SUBGRAPH_OUTPUT;
  main.outputIndexes = {last};
  const auto* const bytes = reinterpret_cast<const uint8_t*>(values.data());
  result.inputs = {{std::vector<uint8_t>(bytes, bytes + 64), false}};
  return result;
}

class BisectTest : public ::testing::Test {
 protected:
  Bisection findingsOn(const std::string& personality) {
    tested_ = targetOf(personality);
    auto findings = bisect(*tested_, *reference_, chain());
    EXPECT_TRUE(findings.ok()) << findings.status().toString();
    return findings.ok() ? std::move(*findings) : Bisection();
  }

  const std::unique_ptr<conformance::Target> reference_ =
      targetOf(cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 1));
  std::unique_ptr<conformance::Target> tested_;
};

TEST_F(BisectTest, NothingDiffersOnAGoodDevice) {
  const Bisection findings = findingsOn("{}");
  EXPECT_FALSE(findings.firstWrong);
  EXPECT_FALSE(findings.firstDiverging);
  EXPECT_FALSE(findings.modelDiffers);
  EXPECT_FALSE(findings.smallest);
  ASSERT_EQ(findings.operations.size(), 5u);
  for (const OperationFinding& finding : findings.operations) {
    ASSERT_TRUE(finding.own && finding.accumulated);
    EXPECT_EQ(finding.own->largestAbsolute, 0);
    EXPECT_EQ(finding.accumulated->largestAbsolute, 0);
  }
}

TEST_F(BisectTest, FindsTheOperationThatIsWrong) {
  const Bisection findings = findingsOn(R"({"wrong_values": {"TANH": 0.05}})");
  ASSERT_TRUE(findings.firstWrong);
  EXPECT_EQ(*findings.firstWrong, 2u);
  EXPECT_TRUE(findings.modelDiffers);
  ASSERT_TRUE(findings.firstDiverging);
  EXPECT_EQ(*findings.firstDiverging, 2u);
  // The operations after it differ in the model, but not alone.
  EXPECT_FALSE(findings.operations[3].isWrong());
  EXPECT_GT(findings.operations[3].accumulated->largestAbsolute, 0.01);
  EXPECT_EQ(findings.operations[3].own->largestAbsolute, 0);
  EXPECT_NEAR(findings.operations[2].own->largestRelative, 0.05, 1e-4);
  ASSERT_TRUE(findings.smallest);
  ASSERT_EQ(findings.smallest->model.main.operations.size(), 1u);
  EXPECT_EQ(findings.smallest->model.main.operations[0].type, OperationType::TANH);
  EXPECT_EQ(findings.smallest->outputs[0].dims, (Shape{1}));
}

TEST_F(BisectTest, ADeviceThatDoesNotTakeAllIsAskedForTheRest) {
  const Bisection findings =
      findingsOn(R"({"wrong_values": {"ADD": 0.05}, "supports": {"not_operations": ["TANH"]}})");
  ASSERT_TRUE(findings.firstWrong);
  EXPECT_EQ(*findings.firstWrong, 1u);
  EXPECT_FALSE(findings.operations[0].accumulated);
  EXPECT_FALSE(findings.operations[2].own);
  EXPECT_THAT(findings.operations[2].note, HasSubstr("does not take it"));
}

TEST_F(BisectTest, AFailureIsADifference) {
  const Bisection findings = findingsOn(
      R"({"faults": [{"at": "prepare", "operation": "TANH", "do": "fail", "text": "no tiles"}]})");
  EXPECT_TRUE(findings.modelDiffers);
  EXPECT_THAT(findings.difference, HasSubstr("no tiles"));
  ASSERT_TRUE(findings.firstWrong);
  EXPECT_EQ(*findings.firstWrong, 2u);
  EXPECT_THAT(findings.operations[2].own->text, HasSubstr("no tiles"));
}

// Computes TANH wrongly, but only while its result is an intermediate value of the model.
class Fusing final : public hal::Device {
 public:
  Fusing() : real_(cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 1)), info_(cpu::cpuDeviceInfo()) {
    info_.name = "fusing";
  }
  const hal::DeviceInfo& info() const override { return info_; }
  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    return real_->getSupportedOperations(model);
  }
  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    const auto& operations = model->main.operations;
    bool fuses = false;
    for (size_t i = 0; i + 1 < operations.size(); ++i) {
      const uint32_t between = operations[i].outputs[0];
      fuses = fuses || (operations[i].type == OperationType::TANH &&
                        model->main.operands[between].lifetime == Lifetime::TEMPORARY_VARIABLE);
    }
    if (!fuses) return real_->prepareModel(model, options);
    auto wrong = std::make_shared<Model>(*model);
    for (Operation& operation : wrong->main.operations) {
      if (operation.type == OperationType::TANH) operation.type = OperationType::LOGISTIC;
    }
    return real_->prepareModel(validated(std::move(wrong)).value(), options);
  }

 private:
  const std::shared_ptr<hal::Device> real_;
  hal::DeviceInfo info_;
};

TEST_F(BisectTest, WhatIsWrongOnlyTogetherIsFoundByPrefixes) {
  tested_ = targetOf(std::make_shared<Fusing>());
  const auto findings = bisect(*tested_, *reference_, chain());
  ASSERT_TRUE(findings.ok()) << findings.status().toString();
  EXPECT_TRUE(findings->modelDiffers);
  EXPECT_TRUE(findings->usedPrefixes);
  EXPECT_FALSE(findings->firstWrong);
  ASSERT_TRUE(findings->firstDiverging);
  EXPECT_EQ(*findings->firstDiverging, 3u);
  ASSERT_TRUE(findings->smallest);
  EXPECT_EQ(findings->smallest->model.main.operations.size(), 2u);
}

}  // namespace
}  // namespace halyard::random_graphs

// Tests of the assignment to devices: NNAPI's plain rules, and the choice by predicted cost.
#include "runtime/partition/partitioner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpu/model_for_test.h"
#include "model/validation/validation.h"
#include "runtime/testing/fake_devices_for_test.h"

namespace halyard::runtime {
namespace {

using cpu::testing::TestModel;
using ::testing::HasSubstr;
using namespace testing;  // NOLINT(google-build-using-namespace): the fakes
using enum OperationType;

class PartitionerTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("HALYARD_LOG", "quiet", 1); }

  // Returns the plan as text, or the error.
  std::string plan(const TestModel& model, const CostSettings& costs, bool withCpu = true) {
    PreparationOptions options;
    options.explicitDevices = !withCpu;
    const auto made = makePlan(model.share(), devices_.list(withCpu), costs, &report_, options);
    if (!made.ok()) return made.status().toString();
    return textOf(**made);
  }

  FakeDevices devices_;
  Report report_;
};

// A chain of operations with one input and one output.
TestModel chainOf(const std::vector<OperationType>& types, const Shape& shape = {2}) {
  TestModel model;
  uint32_t value = model.input(shape);
  for (size_t i = 0; i < types.size(); ++i) {
    const uint32_t next = i + 1 == types.size() ? model.output(shape) : model.temporary(shape);
    model.operation(types[i], {value}, {next});
    value = next;
  }
  return model;
}

TEST_F(PartitionerTest, TheFastestDeviceHasAll) {
  devices_.add("a", 0.9F);
  devices_.add("b", 0.5F);
  EXPECT_EQ(plan(chainOf({RELU, TANH}), noCosts()), "simple b{0,1}");
}

TEST_F(PartitionerTest, TheCpuDeviceWinsTies) {
  devices_.add("a", 1.1F);
  devices_.add("b", 1.0F);
  EXPECT_EQ(plan(chainOf({RELU, TANH}), noCosts()), "simple nnapi-reference{0,1}");
}

TEST_F(PartitionerTest, AmongDriversTheEarlierWinsTies) {
  devices_.add("a", 0.5F);
  devices_.add("b", 0.5F);
  EXPECT_EQ(plan(chainOf({RELU, TANH}), noCosts()), "simple a{0,1}");
}

TEST_F(PartitionerTest, PowerCountsWhenPowerIsPreferred) {
  devices_.add("fast", 0.5F).powerUsage = 2;
  devices_.add("frugal", 2.0F).powerUsage = 0.5F;
  PreparationOptions options;
  options.prepare.preference = hal::ExecutionPreference::LOW_POWER;
  const auto made = makePlan(chainOf({RELU}).share(), devices_.list(), noCosts(), nullptr, options);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(textOf(**made), "simple frugal{0}");
}

TEST_F(PartitionerTest, EachTakesWhatItCan) {
  devices_.add("a", 0.5F).takes = takesOnly({RELU});
  devices_.add("b", 0.5F).takes = takesOnly({TANH});
  EXPECT_EQ(plan(chainOf({RELU, TANH}), noCosts()), "a{0} b{1}");
  EXPECT_EQ(plan(chainOf({RELU, TANH}), noCosts(), false), "a{0} b{1}");
}

TEST_F(PartitionerTest, OperationsOfEachVersionGoToTheDevicesThatHaveThem) {
  const auto add = [&](const char* name, float execTime, HalVersion version) {
    Script& script = devices_.add(name, execTime);
    script.version = version;
    script.level = FeatureLevel::FL4;
  };
  add("v1_0", 0.6F, HalVersion::V1_0);
  add("v1_1", 0.7F, HalVersion::V1_1);
  add("v1_2", 0.8F, HalVersion::V1_2);
  add("v1_3", 0.9F, HalVersion::V1_3);
  TestModel model;
  const uint32_t a = model.input({2});
  const uint32_t b = model.input({2});
  const uint32_t sum = model.temporary({2});
  const uint32_t difference = model.temporary({2});
  model.add(a, b, sum);                                              // HAL 1.0
  model.operation(SUB, {a, b, model.int32(0)}, {difference});        // 1.1
  model.operation(MAXIMUM, {sum, difference}, {model.output({2})});  // 1.2
  model.operation(HARD_SWISH, {difference}, {model.output({2})});    // 1.3
  // The queue of the highest device comes first.
  EXPECT_EQ(plan(model, noCosts()), "v1_1{1} v1_3{3} v1_0{0} v1_2{2}");
}

TEST_F(PartitionerTest, OfAllQueuesTheHighestDeviceComesFirst) {
  const auto add = [&](const char* name, float execTime, HalVersion version) {
    Script& script = devices_.add(name, execTime);
    script.version = version;
    script.level = FeatureLevel::FL4;
  };
  add("v1_0", 0.6F, HalVersion::V1_0);
  add("v1_1", 0.7F, HalVersion::V1_1);
  add("v1_2", 0.8F, HalVersion::V1_2);
  add("v1_3", 0.9F, HalVersion::V1_3);
  TestModel model;
  const uint32_t a = model.input({2});
  const uint32_t b = model.input({2});
  const uint32_t sum = model.temporary({2});
  const uint32_t difference = model.temporary({2});
  const uint32_t both = model.temporary({2});
  model.add(a, b, sum);
  model.operation(SUB, {a, b, model.int32(0)}, {difference});
  model.operation(MUL, {sum, difference, model.int32(0)}, {both});
  model.operation(HARD_SWISH, {both}, {model.output({2})});
  model.operation(MAXIMUM, {both, a}, {model.output({2})});
  EXPECT_EQ(plan(model, noCosts()), "v1_1{1} v1_0{0,2} v1_3{3} v1_2{4}");
}

TEST_F(PartitionerTest, ReasonsSayWhyNot) {
  devices_.add("old", 0.5F).version = HalVersion::V1_0;
  devices_.add("picky", 0.5F).takes = takesAllBut({HARD_SWISH});
  devices_.add("candid", 0.5F).supported = [](const Model&) -> Result<hal::SupportedOperations> {
    return hal::SupportedOperations{hal::OperationSupport::no("2 values, at least 3")};
  };
  devices_.add("dead", 0.5F).supported = [](const Model&) -> Result<hal::SupportedOperations> {
    return makeStatus(ResultCode::DEAD_OBJECT, "the process ended");
  };
  const TestModel model = chainOf({HARD_SWISH});
  EXPECT_EQ(plan(model, noCosts()), "simple nnapi-reference{0}");
  const std::vector<OperationReport> operations = report_.operations();
  ASSERT_EQ(operations.size(), 1u);
  EXPECT_EQ(operations[0].device, "nnapi-reference");
  EXPECT_EQ(operations[0].partition, 0);
  ASSERT_EQ(operations[0].others.size(), 4u);
  EXPECT_THAT(operations[0].others[0].reason,
              HasSubstr("needs feature level 4 (HAL 1.3), the device has feature level 1"));
  EXPECT_EQ(operations[0].others[1].reason, "its driver does not support it, and gives no reason");
  EXPECT_EQ(operations[0].others[2].reason, "2 values, at least 3");
  EXPECT_EQ(operations[0].others[3].reason,
            "could not be asked what it supports: DEAD_OBJECT: device dead: the process ended");
  // The error lists all operations in the same way.
  const std::string error = plan(model, noCosts(), false);
  EXPECT_THAT(error,
              HasSubstr("BAD_DATA: no device takes operation #0 HARD_SWISH: device old: needs"));
  EXPECT_THAT(error, HasSubstr("device picky: its driver does not support it"));
  EXPECT_THAT(error, HasSubstr("device dead: could not be asked"));
  ASSERT_EQ(report_.operations().size(), 1u);
  EXPECT_EQ(report_.operations()[0].device, "");
  EXPECT_EQ(report_.operations()[0].others.size(), 4u);
}

TEST_F(PartitionerTest, SlowerDevicesAreNamedWithFigures) {
  devices_.add("slow", 2.0F);
  plan(chainOf({RELU}), noCosts());
  EXPECT_EQ(report_.operations()[0].others[0].reason,
            "its figure is 2, that of nnapi-reference is 1");
  plan(chainOf({RELU}), flatCosts(0));
  EXPECT_EQ(report_.operations()[0].others[0].reason,
            "predicted 2 us, slower than 1 us on nnapi-reference");
}

// A device that is slow by its capabilities, and predicts the times of its operations itself.
void addPredicting(FakeDevices& devices, std::vector<double> nanoseconds) {
  devices.add("own", 5.0F).supported =
      [nanoseconds](const Model& model) -> Result<hal::SupportedOperations> {
    hal::SupportedOperations answer;
    for (size_t i = 0; i < model.main.operations.size(); ++i) {
      answer.push_back(hal::OperationSupport::yes(
          std::chrono::duration<double, std::nano>(nanoseconds[i % nanoseconds.size()])));
    }
    return answer;
  };
}

TEST_F(PartitionerTest, AnOwnPredictionReplacesThatOfTheCapabilities) {
  addPredicting(devices_, {100, 3000});
  const TestModel model = chainOf({RELU, TANH, RELU, TANH});
  EXPECT_EQ(plan(model, flatCosts(0)), "own{0} nnapi-reference{1} own{2} nnapi-reference{3}");
  EXPECT_EQ(report_.operations()[1].others[0].reason,
            "predicted 3 us, slower than 1 us on nnapi-reference");
  EXPECT_EQ(report_.partitions()[0].predicted.compute, 100);
  // As the only candidate.
  EXPECT_EQ(plan(model, flatCosts(0), false), "simple own{0,1,2,3}");
  EXPECT_EQ(report_.partitions()[0].predicted.compute, 6200);
}

TEST_F(PartitionerTest, OwnPredictionsOfTimeDoNotCountWhenPowerIsPreferred) {
  addPredicting(devices_, {100});
  PreparationOptions options;
  options.prepare.preference = hal::ExecutionPreference::LOW_POWER;
  const auto made =
      makePlan(chainOf({RELU}).share(), devices_.list(), flatCosts(0), nullptr, options);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(textOf(**made), "simple nnapi-reference{0}");
}

// --- Vendors' operations.

TestModel oemModel() {
  TestModel model;
  return model.operation(OEM_OPERATION, {model.input({2})}, {model.output({2})});
}

TEST_F(PartitionerTest, TheBestDeviceOfTheVendorHasItsOperation) {
  for (const auto& [name, execTime] : {std::pair{"a", 0.9F}, {"b", 0.4F}, {"c", 0.1F}}) {
    Script& script = devices_.add(name, execTime);
    script.canPrepareAnything = true;
    if (execTime > 0.2F) script.takes = takesOnly({OEM_OPERATION});
  }
  EXPECT_EQ(plan(oemModel(), noCosts()), "simple b{0}");
}

TEST_F(PartitionerTest, NobodyHasTheVendorsOperation) {
  devices_.add("a", 0.5F);
  const std::string error = plan(oemModel(), noCosts());
  EXPECT_THAT(error, HasSubstr("BAD_DATA: no device takes operation #0 OEM_OPERATION"));
  EXPECT_THAT(error, HasSubstr("device nnapi-reference: it has no operations of vendors"));
}

TEST_F(PartitionerTest, AVendorsOperationThatFailsToPrepareIsAnError) {
  Script& script = devices_.add("a", 0.5F);
  script.takes = takesOnly({OEM_OPERATION});
  script.prepare = [](const Model&) { return opFailed("out of sorts"); };
  EXPECT_EQ(plan(oemModel(), noCosts()), "OP_FAILED: device a: out of sorts");
  // Other operations are present, too, but there is still no fallback.
  TestModel model;
  const uint32_t between = model.temporary({2});
  model.operation(OEM_OPERATION, {model.input({2})}, {between});
  model.operation(RELU, {between}, {model.output({2})});
  EXPECT_EQ(plan(model, noCosts()), "OP_FAILED: device a: out of sorts");
}

// --- Parts that no device would accept.

// out = relu(tanh(c) + a), where c is a constant.
TestModel modelWithConstantPart() {
  TestModel model;
  const uint32_t constant = model.constant<float>(OperandType::TENSOR_FLOAT32, {2}, {1, 2});
  const uint32_t first = model.temporary({2});
  const uint32_t second = model.temporary({2});
  model.operation(TANH, {constant}, {first});
  model.add(first, model.input({2}), second);
  model.operation(RELU, {second}, {model.output({2})});
  return model;
}

TEST_F(PartitionerTest, APartWithoutInputs) {
  devices_.add("a", 0.5F).takes = takesOnly({TANH});
  // With the plain rules, it makes the whole plan invalid.
  EXPECT_EQ(plan(modelWithConstantPart(), noCosts()), "simple nnapi-reference{0,1,2}");
  ASSERT_EQ(report_.events().size(), 1u);
  EXPECT_EQ(report_.events()[0].kind, ReportEvent::Kind::CPU_FALLBACK);
  EXPECT_THAT(report_.events()[0].cause,
              HasSubstr("operation #0 TANH on, for device a, has no inputs"));
  PreparationOptions options;
  options.mode = PartitionMode::WITHOUT_FALLBACK;
  const auto made =
      makePlan(modelWithConstantPart().share(), devices_.list(), noCosts(), nullptr, options);
  EXPECT_EQ(made.status().code(), ResultCode::OP_FAILED);
}

TEST_F(PartitionerTest, APartWithoutInputsGoesToWhoeverCanHaveIt) {
  devices_.add("a", 0.001F).takes = takesOnly({TANH});
  devices_.add("b", 0.001F).takes = takesOnly({ADD, TANH});
  // The operation moves to the neighbour; not everything moves to the CPU device.
  EXPECT_EQ(plan(modelWithConstantPart(), flatCosts(10)), "b{0,1} nnapi-reference{2}");
  EXPECT_TRUE(report_.events().empty());
}

TEST_F(PartitionerTest, APartWithoutOutputs) {
  devices_.add("a", 0.5F).takes = takesOnly({TANH});
  TestModel model;
  const uint32_t input = model.input({2});
  model.operation(TANH, {input}, {model.temporary({2})});  // no operation reads it
  model.operation(RELU, {input}, {model.output({2})});
  EXPECT_EQ(plan(model, noCosts()), "simple nnapi-reference{0,1}");
  EXPECT_THAT(report_.events().at(0).cause, HasSubstr("has no outputs"));
}

TestModel modelWithDynamicTemporary() {
  TestModel model;
  const uint32_t between = model.temporary({0});
  model.operation(TANH, {model.input({2})}, {between});
  model.operation(RELU, {between}, {model.output({2})});
  return model;
}

TEST_F(PartitionerTest, ValuesOfUnknownSizeBetweenParts) {
  Script& script = devices_.add("a", 0.5F);
  script.takes = takesOnly({TANH});
  const auto made = makePlan(modelWithDynamicTemporary().share(), devices_.list(), noCosts());
  ASSERT_TRUE(made.ok()) << made.status().toString();
  EXPECT_EQ(textOf(**made), "a{0} nnapi-reference{1}");
  EXPECT_TRUE((*made)->hasDynamicTemporaries);
}

TEST_F(PartitionerTest, ValuesOfUnknownSizeFromOldDevices) {
  Script& script = devices_.add("a", 0.5F);
  script.takes = takesOnly({TANH});
  script.version = HalVersion::V1_1;
  EXPECT_EQ(plan(modelWithDynamicTemporary(), noCosts()), "simple nnapi-reference{0,1}");
  EXPECT_THAT(report_.events().at(0).cause, HasSubstr("which needs HAL 1.2; the device has 1.1"));
  EXPECT_TRUE(report_.partitions().at(0).sizesUnknown);
  PreparationOptions options;
  options.mode = PartitionMode::WITHOUT_FALLBACK;
  const auto made =
      makePlan(modelWithDynamicTemporary().share(), devices_.list(), noCosts(), nullptr, options);
  EXPECT_EQ(made.status().code(), ResultCode::OP_FAILED);
}

// --- Control flow.

// out = condition ? relu(x) : tanh(x).
TestModel branchModel(const Shape& shape = {2}) {
  TestModel model;
  const uint32_t condition = model.input({1}, OperandType::TENSOR_BOOL8);
  const uint32_t x = model.input(shape);
  const uint32_t thenModel = model.reference(chainOf({RELU}, shape));
  const uint32_t elseModel = model.reference(chainOf({TANH}, shape));
  model.operation(IF, {condition, thenModel, elseModel, x}, {model.output(shape)});
  return model;
}

// while (x == y) x = relu(x)
TestModel loopModel(const Shape& shape = {1}) {
  TestModel condition;
  {
    const uint32_t x = condition.input(shape);
    const uint32_t y = condition.input(shape);
    condition.operation(EQUAL, {x, y}, {condition.output({1}, OperandType::TENSOR_BOOL8)});
  }
  TestModel body;
  {
    const uint32_t x = body.input(shape);
    const uint32_t y = body.input(shape);
    body.add(x, y, body.output(shape));
  }
  TestModel model;
  const uint32_t x = model.input(shape);
  const uint32_t y = model.input(shape);
  const uint32_t first = model.reference(condition);
  const uint32_t second = model.reference(body);
  model.operation(WHILE, {first, second, x, y}, {model.output(shape)});
  return model;
}

TEST_F(PartitionerTest, TheRuntimeRunsABranchForADeviceThatHasNone) {
  devices_.add("a", 0.5F).version = HalVersion::V1_0;
  EXPECT_EQ(plan(branchModel(), noCosts()), "if#0(a{0} else a{0})");
  const std::vector<PartitionReport> partitions = report_.partitions();
  ASSERT_EQ(partitions.size(), 2u);
  EXPECT_EQ(partitions[0].within, "operation #0 IF: then");
  EXPECT_EQ(partitions[1].within, "operation #0 IF: else");
  EXPECT_EQ(partitions[1].operations, std::vector<uint32_t>{0});
  EXPECT_TRUE(report_.operations()[0].interpreted);
  EXPECT_EQ(report_.operations()[0].device, "nnapi-reference");
}

TEST_F(PartitionerTest, TheRuntimeRunsALoopAcrossDevices) {
  devices_.add("a", 0.5F).takes = takesAllBut({WHILE, EQUAL});
  EXPECT_EQ(plan(loopModel(), noCosts()), "while#0(nnapi-reference{0} do a{0})");
  EXPECT_EQ(report_.partitions().at(1).within, "operation #0 WHILE: body");
}

TEST_F(PartitionerTest, ADeviceThatHasControlFlowHasItAll) {
  devices_.add("a", 0.5F);
  EXPECT_EQ(plan(branchModel(), noCosts()), "simple a{0}");
  EXPECT_EQ(plan(loopModel(), noCosts()), "simple a{0}");
}

TEST_F(PartitionerTest, ControlFlowOfUnknownSizeIsTheCpus) {
  devices_.add("a", 0.5F);
  EXPECT_EQ(plan(branchModel({0}), noCosts()), "simple nnapi-reference{0}");
  EXPECT_THAT(report_.operations()[0].others[0].reason,
              HasSubstr("is control flow of unknown sizes, which no driver gets: input 3"));
  EXPECT_EQ(plan(loopModel({0}), noCosts()), "simple nnapi-reference{0}");
}

// Not even a device that was named for it runs it: the HAL makes drivers refuse it.
TEST_F(PartitionerTest, ControlFlowOfUnknownSizeIsNobodysWithoutTheCpu) {
  const Script& script = devices_.add("a", 0.5F);
  for (const TestModel& model : {branchModel({0}), loopModel({0})}) {
    const std::string error = plan(model, noCosts(), /*withCpu=*/false);
    EXPECT_THAT(error, HasSubstr("BAD_DATA: device a does not support operation #0"));
    EXPECT_THAT(error, HasSubstr("is control flow of unknown sizes, which no driver gets"));
  }
  EXPECT_EQ(script.prepared, 0);
}

TEST_F(PartitionerTest, ControlFlowWithAllOnTheCpuStaysOneOperation) {
  devices_.add("a", 0.5F).takes = takesOnly({MUL});
  EXPECT_EQ(plan(branchModel(), noCosts()), "simple nnapi-reference{0}");
}

TEST_F(PartitionerTest, WithoutTheCpuNobodyRunsControlFlow) {
  devices_.add("a", 0.5F).takes = takesAllBut({IF});
  EXPECT_THAT(plan(branchModel(), noCosts(), false),
              HasSubstr("BAD_DATA: device a does not support operation #0 IF"));
}

TEST_F(PartitionerTest, AVendorsOperationInABranch) {
  Script& script = devices_.add("a", 0.5F);
  script.takes = takesOnly({OEM_OPERATION});
  script.canPrepareAnything = true;
  TestModel model;
  const uint32_t condition = model.input({1}, OperandType::TENSOR_BOOL8);
  const uint32_t x = model.input({2});
  const uint32_t thenModel = model.reference(oemModel());
  const uint32_t elseModel = model.reference(chainOf({TANH}));
  model.operation(IF, {condition, thenModel, elseModel, x}, {model.output({2})});
  EXPECT_EQ(plan(model, noCosts()), "if#0(a{0} else nnapi-reference{0})");
}

// --- Costs of reaching a device.

TEST_F(PartitionerTest, ADeviceThatIsTooFarAwayGetsNothing) {
  devices_.add("a", 0.1F);
  EXPECT_EQ(plan(chainOf({RELU, TANH}), flatCosts(5000)), "simple nnapi-reference{0,1}");
  EXPECT_THAT(report_.operations()[0].others[0].reason,
              HasSubstr("predicted 100 ns rather than 1 us on nnapi-reference, but the model as a "
                        "whole is predicted to be faster there: a part on this device costs 5 us"));
  EXPECT_EQ(plan(chainOf(std::vector<OperationType>(10, RELU)), flatCosts(5000)),
            "simple a{0,1,2,3,4,5,6,7,8,9}");
}

TEST_F(PartitionerTest, BytesThatCrossCount) {
  devices_.add("a", 0.5F);
  const std::vector<OperationType> types(10, RELU);
  EXPECT_EQ(plan(chainOf(types, {100}), flatCosts(100, 1)).substr(0, 8), "simple a");  // 5.9 of 10
  EXPECT_EQ(plan(chainOf(types, {1000}), flatCosts(100, 1)).substr(0, 8), "simple n");
}

TEST_F(PartitionerTest, SmallPartsAreMerged) {
  // The fast device lacks one operation in the middle; the slower one has all.
  devices_.add("fast", 0.1F).takes = takesAllBut({TANH});
  devices_.add("slow", 0.2F);
  std::vector<OperationType> types(41, RELU);
  types[20] = TANH;
  EXPECT_EQ(plan(chainOf(types), flatCosts(8000)).substr(0, 12), "simple slow{");
  EXPECT_THAT(report_.operations()[3].others[0].reason, HasSubstr("predicted 100 ns rather than"));
  // If a border costs little, the middle moves to the other device.
  const std::string text = plan(chainOf(types), flatCosts(100));
  EXPECT_EQ(std::count(text.begin(), text.end(), '{'), 3) << text;
}

TEST_F(PartitionerTest, PingPongIsAvoided) {
  // The plain rules give 17 parts, and every border costs more than it gains.
  devices_.add("a", 0.5F).takes = takesOnly({RELU});
  std::vector<OperationType> types;
  for (int i = 0; i < 17; ++i) types.push_back(i % 2 == 0 ? RELU : TANH);
  EXPECT_EQ(plan(chainOf(types), flatCosts(1000)).substr(0, 10), "simple nna");
  // A long run of supported operations justifies the border.
  types.insert(types.end(), 20, RELU);
  EXPECT_EQ(plan(chainOf(types), flatCosts(1000)),
            "nnapi-reference{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15} "
            "a{16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36}");
}

TEST_F(PartitionerTest, ALoopIsDividedOnlyWhenThatIsWorthIt) {
  devices_.add("a", 0.01F).takes = takesAllBut({WHILE, EQUAL});
  EXPECT_EQ(plan(loopModel(), flatCosts(5000)), "simple nnapi-reference{0}");
  EXPECT_EQ(plan(loopModel(), flatCosts(10)), "while#0(nnapi-reference{0} do a{0})");
}

}  // namespace
}  // namespace halyard::runtime

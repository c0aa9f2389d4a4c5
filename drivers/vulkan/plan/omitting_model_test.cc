// Executions that omit inputs: on the device, and which prepared models they make.
#include "plan/omitting_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "halyard/driver/constants.h"
#include "vulkan_driver.h"

namespace halyard::vulkandriver {
namespace {

using ::testing::HasSubstr;

uint32_t add(Model& model, OperandType type, Shape dims, Lifetime lifetime) {
  Operand operand;
  operand.type = type;
  operand.dimensions = std::move(dims);
  operand.lifetime = lifetime;
  model.main.operands.push_back(operand);
  const auto index = static_cast<uint32_t>(model.main.operands.size() - 1);
  if (lifetime == Lifetime::SUBGRAPH_INPUT) model.main.inputIndexes.push_back(index);
  if (lifetime == Lifetime::SUBGRAPH_OUTPUT) model.main.outputIndexes.push_back(index);
  return index;
}
uint32_t addInput(Model& model, Shape dims) {
  return add(model, OperandType::TENSOR_FLOAT32, std::move(dims), Lifetime::SUBGRAPH_INPUT);
}
uint32_t addInteger(Model& model, int32_t value) {
  const uint32_t index = add(model, OperandType::INT32, {}, Lifetime::CONSTANT_COPY);
  model.main.operands[index].location = appendConstant(model, &value, sizeof value);
  return index;
}

// One filter with a memory of one value: the output is input * feature * time + bias.
Model svdfModel() {
  Model model;
  std::vector<uint32_t> inputs = {addInput(model, {1, 1}), addInput(model, {1, 1}),
                                  addInput(model, {1, 1}), addInput(model, {1}),
                                  addInput(model, {1, 1})};
  inputs.push_back(addInteger(model, 1));  // rank
  inputs.push_back(addInteger(model, 0));  // no activation
  const uint32_t state = add(model, OperandType::TENSOR_FLOAT32, {1, 1}, Lifetime::SUBGRAPH_OUTPUT);
  const uint32_t output =
      add(model, OperandType::TENSOR_FLOAT32, {1, 1}, Lifetime::SUBGRAPH_OUTPUT);
  model.main.operations.push_back({OperationType::SVDF, std::move(inputs), {state, output}});
  return model;
}

hal::RequestArgument argument(float& value) {
  hal::RequestArgument made;
  made.kind = hal::RequestArgument::Kind::POINTER;
  made.pointer = &value;
  made.length = sizeof value;
  return made;
}

// The arguments of svdfModel().
struct Values {
  std::array<float, 5> inputs = {2, 3, 5, 100, 0};
  std::array<float, 2> outputs = {-1, -1};

  hal::Request request() {
    hal::Request made;
    for (float& value : inputs) made.inputs.push_back(argument(value));
    for (float& value : outputs) made.outputs.push_back(argument(value));
    return made;
  }
  hal::Request without(const std::vector<size_t>& omitted) {
    hal::Request made = request();
    for (const size_t i : omitted) made.inputs[i] = {};
    return made;
  }
};
constexpr size_t kFeature = 1;
constexpr size_t kBias = 3;

TEST(OmittingModelTest, TheDeviceComputesWithAndWithoutAnInput) {
  const std::string arguments[] = {"--software"};
  const auto device = makeVulkanDriver(arguments);
  if (!device.ok()) {
    GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED: " << device.status().toString();
  }
  const auto prepared = (*device)->prepareModel(validated(svdfModel()).value(), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  for (int round = 0; round < 2; ++round) {
    Values given;
    auto result = (*prepared)->executeSynchronously(given.request(), {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(given.outputs[1], 130);
    Values omitted;
    result = (*prepared)->executeSynchronously(omitted.without({kBias}), {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(omitted.outputs[1], 30);
  }
  Values broken;
  const auto result = (*prepared)->executeSynchronously(broken.without({kFeature, kBias}), {});
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(result.status.message(), HasSubstr("inputs 1, 3 are omitted"));
}

// Counts the inputs that each execution gives.
class CountingModel final : public hal::PreparedModel {
 public:
  explicit CountingModel(std::vector<size_t>& counts) : counts_(counts) {}
  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& /*options*/) override {
    counts_.push_back(request.inputs.size());
    return {};
  }

 private:
  std::vector<size_t>& counts_;
};

TEST(OmittingModelTest, PreparesOnceForEachSetAndKeepsFour) {
  const auto model = validated(svdfModel()).value().share();
  std::vector<size_t> counts;
  size_t prepared = 0;
  OmittingModel omitting(
      model, std::make_shared<CountingModel>(counts),
      [&](const std::shared_ptr<const Model>& changed)
          -> Result<std::shared_ptr<hal::PreparedModel>> {
        ++prepared;
        for (const Operand& operand : changed->main.operands) {
          if (operand.lifetime != Lifetime::NO_VALUE) continue;
          return std::shared_ptr<hal::PreparedModel>(std::make_shared<CountingModel>(counts));
        }
        return opFailed("nothing is omitted");
      });
  const auto execute = [&](const std::vector<size_t>& omitted) {
    Values values;
    const auto result = omitting.executeSynchronously(values.without(omitted), {});
    EXPECT_TRUE(result.status.ok()) << result.status.toString();
  };
  execute({});
  EXPECT_EQ(prepared, 0u);
  execute({0});
  execute({0});
  EXPECT_EQ(prepared, 1u);
  for (const size_t i : {1, 2, 3}) execute({i});
  execute({0});
  EXPECT_EQ(prepared, 4u);
  execute({0, 4});
  execute({0});  // the oldest has gone
  EXPECT_EQ(prepared, 6u);
  EXPECT_EQ(counts, (std::vector<size_t>{5, 4, 4, 4, 4, 4, 4, 3, 4}));
}

}  // namespace
}  // namespace halyard::vulkandriver

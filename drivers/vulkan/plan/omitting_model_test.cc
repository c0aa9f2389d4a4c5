// Executions that omit inputs: on the device, and which prepared models they make.
#include "plan/omitting_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "svdf_for_test.h"
#include "vulkan_driver.h"

namespace halyard::vulkandriver {
namespace {

using ::testing::HasSubstr;
using vulkandriver::testing::svdfModel;
using vulkandriver::testing::SvdfValues;

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
    SvdfValues given;
    auto result = (*prepared)->executeSynchronously(given.request(), {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(given.outputs[1], 130);
    SvdfValues omitted;
    result = (*prepared)->executeSynchronously(omitted.without({kBias}), {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(omitted.outputs[1], 30);
  }
  SvdfValues broken;
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
    SvdfValues values;
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

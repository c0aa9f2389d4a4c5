// The driver in a process of its own, under the measures of its sandbox.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "device/vulkan_device.h"
#include "hal/client/remote_device.h"
#include "hal/manifest/manifest.h"
#include "svdf_for_test.h"
#include "test_definitions.h"
#include "vulkan_driver.h"

namespace halyard::vulkandriver {
namespace {

using ::testing::HasSubstr;

// The manifest of the build, with a software device allowed.
hal::Manifest manifestForTests() {
  auto manifest = hal::loadManifest(HALYARD_BINARY_DIR "/share/halyard/samples/vulkan.json");
  EXPECT_TRUE(manifest.ok()) << manifest.status().toString();
  manifest->arguments.emplace_back("--software");
  return *manifest;
}

TEST(VulkanProcessTest, ComputesUnderAllMeasures) {
  const std::string arguments[] = {"--software"};
  if (const auto made = makeVulkanDriver(arguments); !made.ok()) {
    GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED: " << made.status().toString();
  }
  auto loop = hal::RpcLoop::start();
  ASSERT_TRUE(loop.ok()) << loop.status().toString();
  const auto remote = hal::RemoteDevice::open(*loop, manifestForTests());
  ASSERT_TRUE(remote.ok()) << remote.status().toString();
  EXPECT_NE((*remote)->processId(), ::getpid());
  EXPECT_EQ((*remote)->info().type, hal::DeviceType::GPU);
  for (const hal::IsolationMeasure& measure : (*remote)->isolation()) {
    // A kernel may lack one, and a sanitizer needs rights. The manifest switches off none.
    if (measure.state != hal::IsolationMeasure::State::OFF) continue;
    EXPECT_THAT(measure.detail, HasSubstr("sanitizer")) << measure.name;
  }
  // The device compiles its code only now.
  const auto prepared = (*remote)->prepareModel(validated(testing::svdfModel()).value(), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  for (int round = 0; round < 3; ++round) {
    testing::SvdfValues values;
    const auto result = (*prepared)->executeSynchronously(values.request(), {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(values.outputs[1], 130);
  }
}

TEST(VulkanProcessTest, SoftwareDevicesNeedAnArgument) {
  const auto device = makeVulkanDriver();
  if (device.ok()) GTEST_SKIP() << "there is a GPU: " << (*device)->info().name;
  EXPECT_EQ(device.status().code(), ResultCode::UNAVAILABLE_DEVICE);
  const std::string arguments[] = {"--software"};
  if (!makeVulkanDriver(arguments).ok()) GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED";
  EXPECT_THAT(device.status().message(), HasSubstr("--software allows it for tests"));
}

// "halyard devices" shows the same text.
TEST(VulkanProcessTest, TheReasonOfARefusedStartReachesTheRuntime) {
  auto loop = hal::RpcLoop::start();
  ASSERT_TRUE(loop.ok()) << loop.status().toString();
  hal::Manifest manifest = manifestForTests();
  manifest.arguments = {"--soft"};
  const auto remote = hal::RemoteDevice::open(*loop, manifest);
  EXPECT_EQ(remote.status().code(), ResultCode::UNAVAILABLE_DEVICE);
  EXPECT_THAT(remote.status().message(), HasSubstr("argument --soft of the Vulkan driver"));
}

TEST(VulkanProcessTest, ADeviceIsChosenByItsNameOrUuid) {
  const auto first = VulkanDevice::open({.software = true});
  if (!first.ok()) GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED";
  const std::string name = (*first)->name();
  EXPECT_THAT(driverName(name), ::testing::MatchesRegex("vulkan-[a-z0-9_]+"));
  EXPECT_EQ((*first)->uuid().size(), 32u);
  for (const std::string& choice : {name, driverName(name), (*first)->uuid()}) {
    const std::string arguments[] = {"--software", "--device", choice};
    const auto device = makeVulkanDriver(arguments);
    ASSERT_TRUE(device.ok()) << device.status().toString();
    EXPECT_EQ((*device)->info().name, driverName(name));
  }
  const std::string other[] = {"--software", "--device", "no such device"};
  const Status refused = makeVulkanDriver(other).status();
  EXPECT_EQ(refused.code(), ResultCode::UNAVAILABLE_DEVICE);
  EXPECT_THAT(refused.message(), HasSubstr("it is not no such device"));
  EXPECT_THAT(refused.message(), HasSubstr((*first)->uuid()));
  const std::string nothing[] = {"--device"};
  EXPECT_EQ(makeVulkanDriver(nothing).status().code(), ResultCode::BAD_DATA);
}

TEST(VulkanProcessTest, CapabilitiesComeFromAFile) {
  const std::string path = ::testing::TempDir() + "/vulkan_capabilities.json";
  std::ofstream(path) << R"({"capabilities": {"default": {"exec_time": 7, "power_usage": 8}}})";
  const std::string arguments[] = {"--software", "--capabilities", path};
  const auto device = makeVulkanDriver(arguments);
  if (!device.ok()) GTEST_SKIP() << "NO VULKAN DEVICE: " << device.status().toString();
  const auto float32 = (*device)->info().capabilities.lookup(OperandType::TENSOR_FLOAT32);
  EXPECT_EQ(float32.execTime, 7);
  EXPECT_EQ(float32.powerUsage, 8);
  // The figures replace predictions.
  const auto model = validated(testing::svdfModel()).value();
  const auto supported = (*device)->getSupportedOperations(model);
  ASSERT_TRUE(supported.ok()) << supported.status().toString();
  EXPECT_FALSE(supported->front().cost.has_value());
  const auto predicting =
      makeVulkanDriver(std::span(arguments).first(1)).value()->getSupportedOperations(model);
  ASSERT_TRUE(predicting.ok()) << predicting.status().toString();
  EXPECT_GT(predicting->front().cost.value_or(0), 0);
  const std::string missing[] = {"--software", "--capabilities", path + ".missing"};
  EXPECT_THAT(makeVulkanDriver(missing).status().message(), HasSubstr(".missing"));
}

TEST(VulkanProcessTest, OtherArgumentsAreRefused) {
  const std::string arguments[] = {"--soft"};
  const auto device = makeVulkanDriver(arguments);
  EXPECT_EQ(device.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(device.status().message(), HasSubstr("--soft"));
}

}  // namespace
}  // namespace halyard::vulkandriver

// A device that fails or hangs: the status of its users, and the next process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "device/vulkan_device.h"
#include "hal/client/remote_device.h"
#include "hal/manifest/manifest.h"
#include "svdf_for_test.h"
#include "test_definitions.h"
#include "vulkan_driver.h"

namespace halyard::vulkandriver {
namespace {

using ::testing::HasSubstr;

ValidModel model() { return validated(testing::svdfModel()).value(); }

void useLostDevice(VkResult failure) {
  std::vector<std::string> losses;
  const auto vulkan = VulkanDevice::open({.software = true, .onLost = [&](const Status& status) {
                                            losses.push_back(status.message());
                                          }});
  ASSERT_TRUE(vulkan.ok()) << vulkan.status().toString();
  const auto device = makeVulkanDriverOn(*vulkan, {.measuresSpeed = false, .saves = false});
  const auto prepared = device->prepareModel(model(), {}).value();
  (*vulkan)->failSubmission(failure, 1);
  testing::SvdfValues values;
  ASSERT_TRUE(prepared->executeSynchronously(values.request(), {}).status.ok());
  for (int round = 0; round < 2; ++round) {
    const auto result = prepared->executeSynchronously(values.request(), {});
    EXPECT_EQ(result.status.code(), ResultCode::DEAD_OBJECT) << result.status.toString();
  }
  EXPECT_EQ(device->prepareModel(model(), {}).status().code(), ResultCode::DEAD_OBJECT);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_THAT(losses[0], HasSubstr(failure == VK_TIMEOUT ? "has not answered" : "is lost"));
}

class DeviceLossTest : public ::testing::TestWithParam<VkResult> {};
INSTANTIATE_TEST_SUITE_P(, DeviceLossTest, ::testing::Values(VK_ERROR_DEVICE_LOST, VK_TIMEOUT));

// A lost device is never destroyed. A process of the test's ends with it, as a driver's does.
TEST_P(DeviceLossTest, NothingRunsOnALostDevice) {
  if (!VulkanDevice::open({.software = true}).ok()) GTEST_SKIP() << "NO VULKAN DEVICE";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto useAndEnd = [] {
    useLostDevice(GetParam());
    std::_Exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(useAndEnd(), ::testing::ExitedWithCode(0), "");
}

// The test's driver loses its device at the third submission.
TEST(DeviceLossProcessTest, TheNextProcessComputes) {
  if (!VulkanDevice::open({.software = true}).ok()) GTEST_SKIP() << "NO VULKAN DEVICE";
  hal::Manifest manifest;
  manifest.name = "test-vulkan-loss";
  manifest.version = "1";
  manifest.target = HALYARD_LOSING_DRIVER_PATH;
  manifest.arguments = {"--lost"};
  auto loop = hal::RpcLoop::start();
  ASSERT_TRUE(loop.ok()) << loop.status().toString();
  const auto remote = hal::RemoteDevice::open(*loop, manifest);
  ASSERT_TRUE(remote.ok()) << remote.status().toString();
  const pid_t first = (*remote)->processId();
  for (int process = 0; process < 2; ++process) {
    const auto prepared = (*remote)->prepareModel(model(), {});
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    for (int round = 0; round < 2; ++round) {
      testing::SvdfValues values;
      const auto result = (*prepared)->executeSynchronously(values.request(), {});
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
      EXPECT_EQ(values.outputs[1], 130);
    }
    testing::SvdfValues values;
    const auto lost = (*prepared)->executeSynchronously(values.request(), {});
    EXPECT_EQ(lost.status.code(), ResultCode::DEAD_OBJECT) << lost.status.toString();
    EXPECT_THAT(lost.status.message(), HasSubstr("exit status 1"));
    const Status back = (*remote)->wait();
    ASSERT_TRUE(back.ok()) << back.toString();
  }
  EXPECT_NE((*remote)->processId(), first);
}

}  // namespace
}  // namespace halyard::vulkandriver

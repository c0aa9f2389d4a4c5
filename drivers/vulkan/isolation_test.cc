// Two processes of the driver with four clients each. One is killed, stops, or has a device that
// fails or hangs. Its own clients learn it, and those of the other process notice nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "device/vulkan_device.h"
#include "hal/client/remote_device.h"
#include "hal/manifest/manifest.h"
#include "svdf_for_test.h"
#include "test_definitions.h"

namespace halyard::vulkandriver {
namespace {

constexpr int kClients = 4;  // of a process
constexpr int kRounds = 20;  // of the other clients, after the end of the first process

struct Fault {
  std::string name;
  int signal = 0;             // sent to the first process
  std::string argument = {};  // of the driver that loses its device
};

hal::Manifest manifestOf(const Fault& fault) {
  hal::Manifest manifest;
  manifest.name = "test-vulkan-" + fault.name;
  manifest.version = "1";
  const bool isLosing = !fault.argument.empty();
  manifest.target =
      isLosing ? HALYARD_LOSING_DRIVER_PATH : HALYARD_BINARY_DIR "/bin/halyard-driver-vulkan";
  manifest.arguments = {isLosing ? fault.argument : "--software"};
  return manifest;
}

// Clients that compute until their first error.
class Clients {
 public:
  explicit Clients(std::shared_ptr<hal::RemoteDevice> device) : device_(std::move(device)) {
    for (int i = 0; i < kClients; ++i) threads_.emplace_back([this, i] { work(i); });
  }

  // Waits until each client has computed `rounds` times more, or has failed.
  void awaitRounds(int rounds) const {
    std::array<int, kClients> before;
    for (int i = 0; i < kClients; ++i) before[i] = rounds_[i];
    for (int i = 0; i < kClients; ++i) {
      while (rounds_[i] < before[i] + rounds && !hasFailed_[i]) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
  }
  // Waits for the ends of all clients, and returns their errors.
  std::vector<Status> errors() {
    threads_.clear();
    return {errors_.begin(), errors_.end()};
  }
  void stop() { isOver_ = true; }

 private:
  void work(int i) {
    errors_[i] = compute(i);
    hasFailed_[i] = !errors_[i].ok();
  }
  Status compute(int i) {
    const auto model = validated(testing::svdfModel()).value();
    HALYARD_ASSIGN_OR_RETURN(const auto prepared, device_->prepareModel(model, {}));
    while (!isOver_) {
      testing::SvdfValues values;
      values.inputs[0] = static_cast<float>(i);
      const auto result = prepared->executeSynchronously(values.request(), {});
      HALYARD_RETURN_IF_ERROR(Status(result.status));
      const float expected = static_cast<float>(i) * 3 * 5 + 100;
      if (values.outputs[1] != expected) return opFailed("{} for {}", values.outputs[1], expected);
      ++rounds_[i];
    }
    return okStatus();
  }

  const std::shared_ptr<hal::RemoteDevice> device_;
  std::atomic<bool> isOver_ = false;
  std::array<std::atomic<int>, kClients> rounds_ = {};
  std::array<std::atomic<bool>, kClients> hasFailed_ = {};
  std::array<Status, kClients> errors_;
  std::vector<std::jthread> threads_;
};

class VulkanIsolationTest : public ::testing::TestWithParam<Fault> {
 protected:
  void SetUp() override {
    if (!VulkanDevice::open({.software = true}).ok()) GTEST_SKIP() << "NO VULKAN DEVICE";
    ::setenv("HALYARD_DRIVER_ANSWER_TIMEOUT_MS", "3000", 1);
  }
  void TearDown() override { ::unsetenv("HALYARD_DRIVER_ANSWER_TIMEOUT_MS"); }
};

TEST_P(VulkanIsolationTest, OtherProcessesComputeOn) {
  const Fault& fault = GetParam();
  auto loop = hal::RpcLoop::start();
  ASSERT_TRUE(loop.ok()) << loop.status().toString();
  const auto first = hal::RemoteDevice::open(*loop, manifestOf(fault));
  ASSERT_TRUE(first.ok()) << first.status().toString();
  const auto second = hal::RemoteDevice::open(*loop, manifestOf({"other"}));
  ASSERT_TRUE(second.ok()) << second.status().toString();
  const pid_t firstProcess = (*first)->processId();
  const pid_t secondProcess = (*second)->processId();
  ASSERT_NE(firstProcess, secondProcess);

  Clients others(*second);
  others.awaitRounds(1);
  Clients own(*first);
  if (fault.signal != 0) {
    own.awaitRounds(1);
    ASSERT_EQ(::kill(firstProcess, fault.signal), 0);
  }
  for (const Status& error : own.errors()) {
    EXPECT_EQ(error.code(), ResultCode::DEAD_OBJECT) << error.toString();
  }
  others.awaitRounds(kRounds);
  others.stop();
  for (const Status& error : others.errors()) EXPECT_TRUE(error.ok()) << error.toString();
  EXPECT_EQ((*second)->processId(), secondProcess);

  // The first process is replaced.
  ASSERT_TRUE((*first)->wait().ok());
  EXPECT_NE((*first)->processId(), firstProcess);
  const auto prepared = (*first)->prepareModel(validated(testing::svdfModel()).value(), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  testing::SvdfValues values;
  const auto result = (*prepared)->executeSynchronously(values.request(), {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(values.outputs[1], 130);
}

INSTANTIATE_TEST_SUITE_P(, VulkanIsolationTest,
                         ::testing::Values(Fault{"killed", SIGKILL}, Fault{"stopped", SIGSTOP},
                                           Fault{"lost", 0, "--lost"}, Fault{"hangs", 0, "--hang"}),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace halyard::vulkandriver

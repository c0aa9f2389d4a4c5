// The measured speed of the device, its file, and predictions from it.
#include "plan/device_speed.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "plan/speed_store.h"

namespace halyard::vulkandriver {
namespace {

Operand tensor(Shape dims) {
  Operand operand;
  operand.type = OperandType::TENSOR_FLOAT32;
  operand.dimensions = std::move(dims);
  return operand;
}

TEST(DeviceSpeedTest, ProductsAndBytesCost) {
  Subgraph subgraph;
  subgraph.operands = {tensor({2, 8}), tensor({4, 8}), tensor({4}), tensor({2, 4})};
  const Operation product = {OperationType::FULLY_CONNECTED, {0, 1, 2}, {3}};
  const Operation copy = {OperationType::RESHAPE, {0}, {0}};
  const DeviceSpeed speed = {100, 10, 1};
  const double dispatch = predictedTime(subgraph, copy, speed) - 2 * 2 * 8 * 4;
  EXPECT_GT(dispatch, 0);
  EXPECT_LT(dispatch, 100);
  EXPECT_DOUBLE_EQ(predictedTime(subgraph, product, speed) - dispatch,
                   10 * 2 * 4 * 8 + (16 + 32 + 4 + 8) * 4);
}

class SpeedStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/halyard_vulkan_speed_XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
    auto opened = VulkanDevice::open({.software = true});
    if (opened.ok()) device_ = *opened;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::optional<DeviceSpeed> speed(const std::string& identity) {
    return SpeedStore(identity, folder_ / "speed").speedOf(device_);
  }

  std::filesystem::path folder_;
  std::shared_ptr<VulkanDevice> device_;
};

TEST_F(SpeedStoreTest, IsMeasuredOnceForEachIdentity) {
  if (device_ == nullptr) GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED";
  const auto first = speed("one");
  ASSERT_TRUE(first.has_value());
  EXPECT_GT(first->product, 0);
  EXPECT_GT(first->byte, 0);
  // Two measurements are never equal to the last bit.
  const auto second = speed("one");
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->submission, first->submission);
  const auto other = speed("two");
  ASSERT_TRUE(other.has_value());
  EXPECT_NE(other->submission, first->submission);
}

TEST_F(SpeedStoreTest, ADamagedFileIsMeasuredAgain) {
  if (device_ == nullptr) GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED";
  ASSERT_TRUE(speed("one").has_value());
  std::ofstream(folder_ / "speed") << "no file of blobs";
  const auto again = speed("one");
  ASSERT_TRUE(again.has_value());
  EXPECT_GT(again->product, 0);
}

}  // namespace
}  // namespace halyard::vulkandriver

// A prepared model on the device: its memory, and one recorded command buffer.
// Thread safety: as hal::PreparedModel; one execution runs at a time.
// Ownership: owns the memory; shares the device and the model.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "halyard/driver/device.h"
#include "kernels/recording.h"

namespace halyard::vulkandriver {

class VulkanModel : public hal::PreparedModel {
 public:
  static Result<std::shared_ptr<hal::PreparedModel>> create(std::shared_ptr<VulkanDevice> device,
                                                            std::shared_ptr<const Model> model,
                                                            const Recording& recording);

  VulkanModel(std::shared_ptr<VulkanDevice> device, std::shared_ptr<const Model> model)
      : device_(std::move(device)), model_(std::move(model)) {}
  ~VulkanModel() override;
  VulkanModel(const VulkanModel&) = delete;
  VulkanModel& operator=(const VulkanModel&) = delete;

  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override;

 private:
  void place(const Recording& recording);
  Status allocate();
  Status upload(const Recording& recording);
  Status makeDescriptors();
  Status record(const Recording& recording);
  size_t bytesOf(uint32_t operand) const;

  const std::shared_ptr<VulkanDevice> device_;
  const std::shared_ptr<const Model> model_;
  std::vector<size_t> offsets_;     // by operand, then by added constant
  std::vector<size_t> parameters_;  // by dispatch: its place, in bytes
  size_t bytes_ = 0;                // of the memory
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  VkBufferView texels_ = VK_NULL_HANDLE;  // null where the device does not read them
  uint8_t* mapped_ = nullptr;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
  VkCommandPool commandPool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  std::mutex mutex_;     // guards the memory's contents and the next
  bool isLost_ = false;  // the device may still use the memory
};

}  // namespace halyard::vulkandriver

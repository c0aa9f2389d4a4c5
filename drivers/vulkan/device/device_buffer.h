// DeviceBuffer: a buffer of the Vulkan device, with its own memory.
// Thread safety: the contents are the owner's to guard. Everything else is constant.
// Ownership: owns buffer and memory; shares the device. A lost device keeps them, since it may
// still use them.
#pragma once

#include <memory>
#include <span>

#include "device/vulkan_device.h"

namespace halyard::vulkandriver {

class DeviceBuffer {
 public:
  // In the device's own memory. The processor maps it if that makes it slower for neither.
  static Result<std::unique_ptr<DeviceBuffer>> local(std::shared_ptr<VulkanDevice> device,
                                                     uint64_t bytes);
  // Mapped memory of the host, on the way to local buffers and back.
  static Result<std::unique_ptr<DeviceBuffer>> staging(std::shared_ptr<VulkanDevice> device,
                                                       uint64_t bytes);
  // The pages of a mapping, which outlives the buffer. Begin and size are multiples of
  // VulkanDevice::importAlignment(). Devices may refuse some mappings.
  static Result<std::unique_ptr<DeviceBuffer>> imported(std::shared_ptr<VulkanDevice> device,
                                                        std::span<uint8_t> pages);

  explicit DeviceBuffer(std::shared_ptr<VulkanDevice> device, uint64_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  VkBuffer handle() const { return buffer_; }
  uint64_t bytes() const { return bytes_; }
  // Null: the processor reaches it only through copies of the device.
  uint8_t* mapped() const { return mapped_; }
  // Distinguishes it from all others of the process, earlier ones too.
  uint64_t id() const { return id_; }

  // Copies between the buffer and bytes of the processor, from the buffer's start.
  Status read(std::span<uint8_t> to) const;
  Status write(std::span<const uint8_t> from);
  // Fills everything from `first` on, a multiple of 4, with zeros.
  Status clear(uint64_t first);

 private:
  Status makeBuffer(VkExternalMemoryHandleTypeFlags handleTypes, VkMemoryRequirements* needs);
  Status bind(const VkMemoryAllocateInfo& info, bool isMapped);

  const std::shared_ptr<VulkanDevice> device_;
  const uint64_t bytes_;
  const uint64_t id_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  uint8_t* mapped_ = nullptr;
};

}  // namespace halyard::vulkandriver

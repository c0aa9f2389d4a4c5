// VulkanMemory: memory of the device for one buffer of a client (hal::DeviceMemory). Its contents
// are in NNAPI's dense form.
// Thread safety: as hal::DeviceMemory. Ownership: owns the device's buffer.
#pragma once

#include <memory>

#include "device/device_buffer.h"
#include "halyard/driver/device_memory.h"

namespace halyard::vulkandriver {

class VulkanMemory final : public hal::DeviceMemory {
 public:
  static Result<hal::DeviceMemoryPtr> create(std::shared_ptr<VulkanDevice> device, size_t bytes);
  explicit VulkanMemory(std::unique_ptr<DeviceBuffer> buffer) : buffer_(std::move(buffer)) {}

  Status read(std::span<uint8_t> destination, const Shape& dimensions) override;
  Status write(std::span<const uint8_t> source, const Shape& dimensions) override;
  const DeviceBuffer& buffer() const { return *buffer_; }

 private:
  const std::unique_ptr<DeviceBuffer> buffer_;
};

}  // namespace halyard::vulkandriver

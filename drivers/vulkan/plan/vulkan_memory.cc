#include "plan/vulkan_memory.h"

namespace halyard::vulkandriver {

Result<hal::DeviceMemoryPtr> VulkanMemory::create(std::shared_ptr<VulkanDevice> device,
                                                  size_t bytes) {
  // Sizes of cleared memory are multiples of 4.
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<DeviceBuffer> buffer,
                           DeviceBuffer::local(std::move(device), (uint64_t{bytes} + 3) / 4 * 4));
  HALYARD_RETURN_IF_ERROR(buffer->clear(0));
  return hal::DeviceMemoryPtr(std::make_shared<VulkanMemory>(std::move(buffer)));
}

Status VulkanMemory::read(std::span<uint8_t> destination, const Shape& /*dimensions*/) {
  return buffer_->read(destination);
}

Status VulkanMemory::write(std::span<const uint8_t> source, const Shape& /*dimensions*/) {
  return buffer_->write(source);
}

}  // namespace halyard::vulkandriver

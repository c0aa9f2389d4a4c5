#include "device/device_buffer.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "device/command_list.h"

namespace halyard::vulkandriver {
namespace {

std::atomic<uint64_t> lastId = 0;

constexpr VkExternalMemoryHandleTypeFlagBits kHostPages =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

VkMemoryAllocateInfo allocation(uint64_t bytes, uint32_t type) {
  VkMemoryAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.allocationSize = bytes;
  info.memoryTypeIndex = type;
  return info;
}

}  // namespace

DeviceBuffer::DeviceBuffer(std::shared_ptr<VulkanDevice> device, uint64_t bytes)
    : device_(std::move(device)), bytes_(bytes), id_(++lastId) {}

DeviceBuffer::~DeviceBuffer() {
  if (device_->isLost()) return;
  device_->table().vkDestroyBuffer(device_->handle(), buffer_, nullptr);
  device_->table().vkFreeMemory(device_->handle(), memory_, nullptr);
}

Result<std::unique_ptr<DeviceBuffer>> DeviceBuffer::local(std::shared_ptr<VulkanDevice> device,
                                                          uint64_t bytes) {
  auto made = std::make_unique<DeviceBuffer>(std::move(device), bytes);
  VkMemoryRequirements needs = {};
  HALYARD_RETURN_IF_ERROR(made->makeBuffer(0, &needs));
  HALYARD_ASSIGN_OR_RETURN(const MemoryType type, made->device_->localMemory(needs.memoryTypeBits));
  HALYARD_RETURN_IF_ERROR(made->bind(allocation(needs.size, type.index), type.isMappable));
  return made;
}

Result<std::unique_ptr<DeviceBuffer>> DeviceBuffer::staging(std::shared_ptr<VulkanDevice> device,
                                                            uint64_t bytes) {
  auto made = std::make_unique<DeviceBuffer>(std::move(device), bytes);
  VkMemoryRequirements needs = {};
  HALYARD_RETURN_IF_ERROR(made->makeBuffer(0, &needs));
  HALYARD_ASSIGN_OR_RETURN(const MemoryType type,
                           made->device_->stagingMemory(needs.memoryTypeBits));
  HALYARD_RETURN_IF_ERROR(made->bind(allocation(needs.size, type.index), true));
  return made;
}

Result<std::unique_ptr<DeviceBuffer>> DeviceBuffer::imported(std::shared_ptr<VulkanDevice> device,
                                                             std::span<uint8_t> pages) {
  const uint64_t alignment = device->importAlignment();
  if (alignment == 0) return opFailed("the device imports no memory");
  if (pages.empty() || pages.size() % alignment != 0 ||
      reinterpret_cast<uintptr_t>(pages.data()) % alignment != 0) {
    return opFailed("{} bytes at {}, expected multiples of {}", pages.size(),
                    static_cast<const void*>(pages.data()), alignment);
  }
  auto made = std::make_unique<DeviceBuffer>(std::move(device), pages.size());
  VkMemoryRequirements needs = {};
  HALYARD_RETURN_IF_ERROR(made->makeBuffer(kHostPages, &needs));
  if (needs.size > pages.size()) {
    return opFailed("the device needs {} bytes for {}", needs.size, pages.size());
  }
  VkMemoryHostPointerPropertiesEXT types = {};
  types.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
  HALYARD_RETURN_IF_ERROR(
      vulkanStatus(made->device_->table().vkGetMemoryHostPointerPropertiesEXT(
                       made->device_->handle(), kHostPages, pages.data(), &types),
                   "asking for the memory of pages"));
  HALYARD_ASSIGN_OR_RETURN(const MemoryType type, made->device_->stagingMemory(
                                                      needs.memoryTypeBits & types.memoryTypeBits));
  VkImportMemoryHostPointerInfoEXT import = {};
  import.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
  import.handleType = kHostPages;
  import.pHostPointer = pages.data();
  VkMemoryAllocateInfo info = allocation(pages.size(), type.index);
  info.pNext = &import;
  HALYARD_RETURN_IF_ERROR(made->bind(info, false));
  return made;
}

Status DeviceBuffer::makeBuffer(VkExternalMemoryHandleTypeFlags handleTypes,
                                VkMemoryRequirements* needs) {
  VkExternalMemoryBufferCreateInfo external = {};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = handleTypes;
  VkBufferCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.pNext = handleTypes != 0 ? &external : nullptr;
  info.size = bytes_;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (device_->readsTexels()) info.usage |= VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT;
  const VolkDeviceTable& vk = device_->table();
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      vk.vkCreateBuffer(device_->handle(), &info, nullptr, &buffer_), "making a buffer"));
  vk.vkGetBufferMemoryRequirements(device_->handle(), buffer_, needs);
  return okStatus();
}

Status DeviceBuffer::bind(const VkMemoryAllocateInfo& info, bool isMapped) {
  const VolkDeviceTable& vk = device_->table();
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      vk.vkAllocateMemory(device_->handle(), &info, nullptr, &memory_), "allocating memory"));
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      vk.vkBindBufferMemory(device_->handle(), buffer_, memory_, 0), "binding memory"));
  if (!isMapped) return okStatus();
  void* data = nullptr;
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      vk.vkMapMemory(device_->handle(), memory_, 0, VK_WHOLE_SIZE, 0, &data), "mapping memory"));
  mapped_ = static_cast<uint8_t*>(data);
  return okStatus();
}

Status DeviceBuffer::read(std::span<uint8_t> to) const {
  if (to.size() > bytes_) return badData("{} bytes of a buffer of {}", to.size(), bytes_);
  if (to.empty()) return okStatus();
  if (mapped_ != nullptr) {
    std::memcpy(to.data(), mapped_, to.size());
    return okStatus();
  }
  HALYARD_ASSIGN_OR_RETURN(const auto between, staging(device_, to.size()));
  HALYARD_ASSIGN_OR_RETURN(const auto commands, CommandList::begin(device_));
  commands->copy({this, 0}, {between.get(), 0}, to.size());
  HALYARD_RETURN_IF_ERROR(commands->runOnce());
  std::memcpy(to.data(), between->mapped(), to.size());
  return okStatus();
}

Status DeviceBuffer::write(std::span<const uint8_t> from) {
  if (from.size() > bytes_) return badData("{} bytes for a buffer of {}", from.size(), bytes_);
  if (from.empty()) return okStatus();
  if (mapped_ != nullptr) {
    std::memcpy(mapped_, from.data(), from.size());
    return okStatus();
  }
  HALYARD_ASSIGN_OR_RETURN(const auto between, staging(device_, from.size()));
  std::memcpy(between->mapped(), from.data(), from.size());
  HALYARD_ASSIGN_OR_RETURN(const auto commands, CommandList::begin(device_));
  commands->copy({between.get(), 0}, {this, 0}, from.size());
  return commands->runOnce();
}

Status DeviceBuffer::clear(uint64_t first) {
  if (first >= bytes_) return okStatus();
  if (mapped_ != nullptr) {
    std::memset(mapped_ + first, 0, bytes_ - first);
    return okStatus();
  }
  HALYARD_ASSIGN_OR_RETURN(const auto commands, CommandList::begin(device_));
  commands->clear({this, first});
  return commands->runOnce();
}

}  // namespace halyard::vulkandriver

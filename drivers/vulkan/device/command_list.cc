#include "device/command_list.h"

namespace halyard::vulkandriver {

Result<std::unique_ptr<CommandList>> CommandList::begin(std::shared_ptr<VulkanDevice> device) {
  auto made = std::make_unique<CommandList>(std::move(device));
  const VulkanDevice& on = *made->device_;
  VkCommandPoolCreateInfo pool = {};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.queueFamilyIndex = on.queueFamily();
  HALYARD_RETURN_IF_ERROR(
      vulkanStatus(on.table().vkCreateCommandPool(on.handle(), &pool, nullptr, &made->pool_),
                   "making a pool of commands"));
  VkCommandBufferAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = made->pool_;
  info.commandBufferCount = 1;
  HALYARD_RETURN_IF_ERROR(
      vulkanStatus(on.table().vkAllocateCommandBuffers(on.handle(), &info, &made->commands_),
                   "making commands"));
  VkCommandBufferBeginInfo begin = {};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  HALYARD_RETURN_IF_ERROR(
      vulkanStatus(on.table().vkBeginCommandBuffer(made->commands_, &begin), "recording commands"));
  return made;
}

CommandList::~CommandList() {
  if (device_->isLost()) return;
  device_->table().vkDestroyCommandPool(device_->handle(), pool_, nullptr);
}

void CommandList::copy(BufferPlace from, BufferPlace to, uint64_t bytes) {
  const VkBufferCopy region = {from.offset, to.offset, bytes};
  device_->table().vkCmdCopyBuffer(commands_, from.buffer->handle(), to.buffer->handle(), 1,
                                   &region);
}

void CommandList::clear(BufferPlace from) {
  device_->table().vkCmdFillBuffer(commands_, from.buffer->handle(), from.offset, VK_WHOLE_SIZE, 0);
}

void CommandList::barrier() {
  constexpr VkPipelineStageFlags kAll =
      VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT;
  VkMemoryBarrier barrier = {};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  device_->table().vkCmdPipelineBarrier(commands_, kAll, kAll, 0, 1, &barrier, 0, nullptr, 0,
                                        nullptr);
}

Status CommandList::end() {
  return vulkanStatus(device_->table().vkEndCommandBuffer(commands_), "recording commands");
}

Status CommandList::runOnce() {
  barrier();
  HALYARD_RETURN_IF_ERROR(end());
  return device_->submit({&commands_, 1});
}

}  // namespace halyard::vulkandriver

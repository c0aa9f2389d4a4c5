// CommandList: commands of the device, recorded once and run any number of times.
// Thread safety: one thread at a time. Ownership: owns the commands, shares the device, and borrows
// the buffers that they name. A lost device keeps the commands.
#pragma once

#include <memory>

#include "device/device_buffer.h"

namespace halyard::vulkandriver {

struct BufferPlace {
  const DeviceBuffer* buffer;
  uint64_t offset;
};

class CommandList {
 public:
  // Begins the recording.
  static Result<std::unique_ptr<CommandList>> begin(std::shared_ptr<VulkanDevice> device);
  explicit CommandList(std::shared_ptr<VulkanDevice> device) : device_(std::move(device)) {}
  ~CommandList();
  CommandList(const CommandList&) = delete;
  CommandList& operator=(const CommandList&) = delete;

  VkCommandBuffer handle() const { return commands_; }
  // `bytes` is not 0.
  void copy(BufferPlace from, BufferPlace to, uint64_t bytes);
  // Zeros to the end of the buffer; the offset is a multiple of 4.
  void clear(BufferPlace from);
  // Everything before, of the processor too, happens before everything behind.
  void barrier();
  Status end();
  // Ends the recording and runs it.
  Status runOnce();

 private:
  const std::shared_ptr<VulkanDevice> device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

}  // namespace halyard::vulkandriver

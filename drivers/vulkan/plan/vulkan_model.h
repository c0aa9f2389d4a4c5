// A prepared model on the device: its memory, and its recorded commands.
// Thread safety: as hal::PreparedModel; one execution runs at a time.
// Ownership: owns the memory; shares the device and the model.
#pragma once

#include <memory>
#include <vector>

#include "halyard/driver/device.h"
#include "kernels/recording.h"
#include "plan/argument_transfers.h"
#include "plan/submissions.h"
#include "plan/timed_mutex.h"

namespace halyard::vulkandriver {

class VulkanModel : public hal::PreparedModel {
 public:
  // Constants that operations make of constants are made now. Errors name the operation that the
  // device does not support.
  static Result<std::shared_ptr<hal::PreparedModel>> prepare(
      const std::shared_ptr<VulkanDevice>& device, std::shared_ptr<const Model> model,
      const Sharing& sharing);
  // The same for a recording of the model.
  static Result<std::shared_ptr<hal::PreparedModel>> create(std::shared_ptr<VulkanDevice> device,
                                                            std::shared_ptr<const Model> model,
                                                            const Recording& recording,
                                                            const Sharing& sharing = {});

  VulkanModel(std::shared_ptr<VulkanDevice> device, std::shared_ptr<const Model> model,
              hal::Priority priority)
      : device_(std::move(device)), model_(std::move(model)), priority_(priority) {}
  ~VulkanModel() override;
  VulkanModel(const VulkanModel&) = delete;
  VulkanModel& operator=(const VulkanModel&) = delete;

  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override;
  Result<std::unique_ptr<hal::ReusableExecution>> createReusableExecution(
      const hal::Request& request) override;

 private:
  class RecordedRequest;

  void place(const Recording& recording);
  Status allocate();
  Status upload(const Recording& recording);
  Status fill(const Recording& recording, uint8_t* to) const;
  Status makeDescriptors();
  Status record(const Recording& recording, const std::optional<DeviceSpeed>& speed);
  Status recordPart(const Recording& recording, size_t begin, size_t end);
  size_t bytesOf(uint32_t operand) const;
  ArgumentPlaces argumentPlaces() const;
  std::vector<ImportedPages> importsOf(const hal::Request& request) const;
  hal::ExecutionResult run(const hal::MappedRequest& request, ArgumentTransfers& transfers,
                           const std::vector<ImportedPages>& imports,
                           const hal::ExecuteOptions& options);

  const std::shared_ptr<VulkanDevice> device_;
  const std::shared_ptr<const Model> model_;
  const hal::Priority priority_;
  std::vector<size_t> offsets_;     // by operand, then by added constant
  std::vector<size_t> parameters_;  // by dispatch: its place, in bytes
  size_t argumentsEnd_ = 0;         // inputs and outputs end before it
  size_t constantsEnd_ = 0;         // so do constants and parameters; temporaries follow
  size_t bytes_ = 0;                // of the memory
  std::optional<uint64_t> fault_;   // the word for faults
  std::unique_ptr<DeviceBuffer> memory_;
  VkBufferView texels_ = VK_NULL_HANDLE;  // null where the device does not read them
  std::unique_ptr<ArgumentTransfers> transfers_;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
  std::vector<std::unique_ptr<CommandList>> parts_;  // one for each submission
  std::vector<VkCommandBuffer> commands_;            // the same
  TimedMutex mutex_;  // guards the memory's contents and the transfers
};

}  // namespace halyard::vulkandriver

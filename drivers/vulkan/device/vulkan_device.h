// A Vulkan device: instance, physical device, queue, and shaders by name. A driver's process has
// one.
// Thread safety: all functions may be called from several threads at once.
// Ownership: users of a device share it; everything made from it keeps it alive.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "device/priority_gate.h"
#include "device/shader_code.h"
#include "device/volk.h"
#include "halyard/driver/status.h"

namespace halyard::vulkandriver {

// Values of a pipeline's specialisation constants 0 to 3.
using Variant = std::array<int32_t, 4>;

// The push constants of every shader.
struct DispatchConstants {
  uint32_t parameters;  // index of the first parameter, in words of the memory
  uint32_t count;       // work items
};

// The name of the driver for a device, "vulkan-llvmpipe" for "llvmpipe (LLVM 15.0.6, 256 bits)":
// the part in brackets changes with updates.
std::string driverName(std::string_view deviceName);

// The error of a Vulkan call, in words. DEAD_OBJECT for a lost device.
Status vulkanStatus(VkResult result, std::string_view what);

// A type of the device's memory.
struct MemoryType {
  uint32_t index;
  bool isMappable;
};

// The device to open.
struct DeviceChoice {
  bool software = false;    // devices that compute on the processor count
  std::string device = {};  // the only one: its name or UUID; empty: the first that is usable
  std::function<void(const Status&)> onLost = {};  // called when the device is lost
  bool gpuShaders = false;  // devices that compute on the processor run the shaders of GPUs
  // Such devices use all arithmetic that they have, even if it is slow.
  bool gpuArithmetic = false;
  // For tests: treats the device's own memory as out of the processor's reach.
  bool mapsMemory = true;
};

class VulkanDevice : public std::enable_shared_from_this<VulkanDevice> {
 public:
  // Opens the first device that can do the driver's work. UNAVAILABLE_DEVICE says why each device
  // is left out.
  static Result<std::shared_ptr<VulkanDevice>> open(const DeviceChoice& choice);

  VulkanDevice() = default;
  ~VulkanDevice();
  VulkanDevice(const VulkanDevice&) = delete;
  VulkanDevice& operator=(const VulkanDevice&) = delete;

  VkDevice handle() const { return device_; }
  const VolkDeviceTable& table() const { return table_; }
  // The device's name as Vulkan tells it.
  std::string name() const { return properties_.deviceName; }
  uint32_t driverVersion() const { return properties_.driverVersion; }
  // 32 hexadecimal digits.
  std::string uuid() const { return uuid_; }
  // Everything that changes the device's code for a shader.
  std::string codeIdentity() const;
  bool isSoftware() const { return properties_.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  // Whether shaders run in their form for devices that compute on the processor. Those also read
  // the memory as a buffer of texels.
  bool readsTexels() const { return readsTexels_; }
  const ShaderForms& forms() const { return forms_; }
  // The largest memory of one prepared model, in bytes.
  uint64_t mostBytes() const;
  uint32_t queueFamily() const { return queueFamily_; }
  VkDescriptorSetLayout setLayout() const { return setLayout_; }
  VkPipelineLayout pipelineLayout() const { return pipelineLayout_; }

  // The device's own memory, of the types in `allowed`. It is mapped if it is in the processor's
  // caches too. The other is memory of the host, and always mapped.
  Result<MemoryType> localMemory(uint32_t allowed) const;
  Result<MemoryType> stagingMemory(uint32_t allowed) const;
  // Pages of the host that the device can use begin and end at multiples of it; 0: it cannot.
  uint64_t importAlignment() const { return importAlignment_; }
  // The pipeline of a shader; made once for each variant.
  Result<VkPipeline> pipeline(Shader shader, const Variant& variant);
  // The code of all pipelines so far, for a later process with the same codeIdentity().
  Result<std::vector<uint8_t>> pipelineData() const;
  // Adds such code. Vulkan trusts it: it has to be exactly what pipelineData() gave.
  Status addPipelineData(std::span<const uint8_t> data);

  // Runs the commands in order, as soon as no submission of a higher priority runs. Returns when
  // they are done, or with DEAD_OBJECT after the longest time. The deadline counts for the wait
  // before they run only.
  Status submit(std::span<const VkCommandBuffer> commands,
                hal::Priority priority = hal::Priority::MEDIUM,
                const std::optional<hal::TimePoint>& deadline = {});
  // Whether a submission has lost the device, which then does nothing more.
  bool isLost() const { return isLost_; }
  // For tests: the submission after `others` more ends with this result, as if the device had
  // failed or hung. To be called before the submissions.
  void failSubmission(VkResult result, int others) {
    failure_ = result;
    untilFailure_ = others;
  }

 private:
  std::optional<uint32_t> memoryType(uint32_t allowed, VkMemoryPropertyFlags wanted) const;
  Status openInstance();
  Status choose();
  void use(VkPhysicalDevice device);
  ShaderForms chooseForms() const;
  // Those matrices that the device has.
  void chooseMatrices(ShaderForms& forms) const;
  Status openDevice();
  Status makeLayouts();
  Status runNow(std::span<const VkCommandBuffer> commands);

  DeviceChoice choice_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties_ = {};
  VkPhysicalDeviceMemoryProperties memories_ = {};
  std::string uuid_;
  uint32_t queueFamily_ = 0;
  bool readsTexels_ = false;
  ShaderForms forms_;
  uint64_t importAlignment_ = 0;
  VkDevice device_ = VK_NULL_HANDLE;
  VolkDeviceTable table_ = {};
  VkQueue queue_ = VK_NULL_HANDLE;
  VkDescriptorSetLayout setLayout_ = VK_NULL_HANDLE;
  VkPipelineLayout pipelineLayout_ = VK_NULL_HANDLE;
  VkPipelineCache pipelineCache_ = VK_NULL_HANDLE;

  PriorityGate gate_;
  std::mutex mutex_;  // guards the queue
  std::once_flag loss_;
  std::atomic<bool> isLost_ = false;
  std::atomic<VkResult> failure_ = VK_SUCCESS;
  std::atomic<int> untilFailure_ = 0;
  mutable std::mutex pipelineMutex_;  // guards the pipelines and their cache
  std::map<std::tuple<Shader, Variant>, VkPipeline> pipelines_;
};

}  // namespace halyard::vulkandriver

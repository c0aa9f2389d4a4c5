// The Vulkan device of this process: instance, physical device, queue, and shaders by name.
// Thread safety: all functions may be called from several threads at once.
// Ownership: users of a device share it; everything made from it keeps it alive.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>

#include "device/shader_code.h"
#include "device/volk.h"
#include "halyard/driver/status.h"

namespace halyard::vulkandriver {

// Values of a pipeline's specialisation constants 0 to 3.
using Variant = std::array<int32_t, 4>;

// The work items of one group of every shader.
inline constexpr uint32_t kGroupSize = 64;

// The push constants of every shader.
struct DispatchConstants {
  uint32_t parameters;  // index of the first parameter, in words of the memory
  uint32_t count;       // work items
};

// The error of a Vulkan call, in words. DEAD_OBJECT for a lost device.
Status vulkanStatus(VkResult result, std::string_view what);

class VulkanDevice : public std::enable_shared_from_this<VulkanDevice> {
 public:
  // Opens the first device that can do the driver's work. Devices that compute on the processor
  // count only with `software`; with `gpuShaders` they run the shaders of GPUs. UNAVAILABLE_DEVICE
  // says why each device is left out.
  static Result<std::shared_ptr<VulkanDevice>> open(bool software, bool gpuShaders);

  VulkanDevice() = default;
  ~VulkanDevice();
  VulkanDevice(const VulkanDevice&) = delete;
  VulkanDevice& operator=(const VulkanDevice&) = delete;

  VkDevice handle() const { return device_; }
  const VolkDeviceTable& table() const { return table_; }
  // The device's name as Vulkan tells it.
  std::string name() const { return properties_.deviceName; }
  uint32_t driverVersion() const { return properties_.driverVersion; }
  bool isSoftware() const { return properties_.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  // Whether shaders run in their form for devices that compute on the processor. Those also read
  // the memory as a buffer of texels.
  bool readsTexels() const { return readsTexels_; }
  // Work items that compute the same channels of a product.
  uint32_t lanes() const { return readsTexels_ ? kSoftwareLanes : kGroupSize; }
  // The largest memory of one prepared model, in bytes.
  uint64_t mostBytes() const;
  uint32_t queueFamily() const { return queueFamily_; }
  VkDescriptorSetLayout setLayout() const { return setLayout_; }
  VkPipelineLayout pipelineLayout() const { return pipelineLayout_; }

  // A type of memory that the processor can map, preferably cached and in the device.
  Result<uint32_t> mappableMemoryType(uint32_t allowed) const;
  // The pipeline of a shader; made once for each variant.
  Result<VkPipeline> pipeline(Shader shader, const Variant& variant);
  // Runs the commands. Returns when they are done, or with DEAD_OBJECT after the longest time.
  Status submit(VkCommandBuffer commands);

 private:
  Status openInstance();
  Status choose(bool software, bool gpuShaders);
  Status openDevice();
  Status makeLayouts();

  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties_ = {};
  VkPhysicalDeviceMemoryProperties memories_ = {};
  uint32_t queueFamily_ = 0;
  bool readsTexels_ = false;
  VkDevice device_ = VK_NULL_HANDLE;
  VolkDeviceTable table_ = {};
  VkQueue queue_ = VK_NULL_HANDLE;
  VkDescriptorSetLayout setLayout_ = VK_NULL_HANDLE;
  VkPipelineLayout pipelineLayout_ = VK_NULL_HANDLE;
  VkPipelineCache pipelineCache_ = VK_NULL_HANDLE;

  std::mutex mutex_;  // guards the queue
  std::mutex pipelineMutex_;
  std::map<std::tuple<Shader, Variant>, VkPipeline> pipelines_;
};

}  // namespace halyard::vulkandriver

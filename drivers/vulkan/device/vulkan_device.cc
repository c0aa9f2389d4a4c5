#include "device/vulkan_device.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "device/matrix_code.h"

namespace halyard::vulkandriver {
namespace {

// A submission that takes longer counts as a hang of the device.
constexpr uint64_t kLongestNanoseconds = 60'000'000'000;
constexpr uint32_t kVersion = VK_API_VERSION_1_2;

constexpr const char* kMatrices = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
// Cooperative matrices need subgroups whose items are all there.
constexpr const char* kFullSubgroups = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
constexpr const char* kDots = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;

constexpr VkMemoryPropertyFlags kMappable =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = kMappable | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

// The features that shaders use.
struct Features {
  VkPhysicalDeviceFeatures2 all = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, {}};
  VkPhysicalDeviceVulkan11Features v11 = {};
  VkPhysicalDeviceVulkan12Features v12 = {};
  VkPhysicalDeviceShaderIntegerDotProductFeaturesKHR dots = {};

  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {};
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT subgroups = {};

  // The extensions of the device: for integer dot products, and for cooperative matrices.
  explicit Features(bool hasDots = false, bool hasMatrices = false) {
    v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    all.pNext = &v11;
    v11.pNext = &v12;
    dots.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES_KHR;
    matrices.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
    matrices.pNext = &subgroups;
    subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT;
    if (hasMatrices) subgroups.pNext = std::exchange(v12.pNext, &matrices);
    if (hasDots) dots.pNext = std::exchange(v12.pNext, &dots);
  }
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;

  // Each feature that the driver needs, with its name.
  std::array<std::pair<VkBool32*, std::string_view>, 5> needed() {
    return {{{&all.features.robustBufferAccess, "robustBufferAccess"},
             {&all.features.shaderFloat64, "shaderFloat64"},
             {&all.features.shaderInt64, "shaderInt64"},
             {&v11.storageBuffer16BitAccess, "storageBuffer16BitAccess"},
             {&v12.storageBuffer8BitAccess, "storageBuffer8BitAccess"}}};
  }
};

uint32_t computeFamily(VkPhysicalDevice device) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  const auto found = std::ranges::find_if(
      families, [](const auto& family) { return (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0; });
  return static_cast<uint32_t>(found - families.begin());
}

// Properties of one kind.
template <typename Properties>
Properties propertiesOf(VkPhysicalDevice device, VkStructureType kind) {
  Properties asked = {};
  asked.sType = kind;
  VkPhysicalDeviceProperties2 all = {};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  all.pNext = &asked;
  vkGetPhysicalDeviceProperties2(device, &all);
  return asked;
}

VkPhysicalDeviceIDProperties idsOf(VkPhysicalDevice device) {
  return propertiesOf<VkPhysicalDeviceIDProperties>(
      device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
}

VkPhysicalDeviceSubgroupProperties subgroupsOf(VkPhysicalDevice device) {
  return propertiesOf<VkPhysicalDeviceSubgroupProperties>(
      device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
}

bool hasSoftwareLanes(VkPhysicalDevice device, const VkPhysicalDeviceProperties& properties) {
  const auto subgroups = subgroupsOf(device);
  return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU &&
         subgroups.subgroupSize == kSoftwareLanes &&
         (subgroups.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0 &&
         (subgroups.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
}

bool hasExtension(VkPhysicalDevice device, std::string_view name) {
  uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data());
  return std::ranges::any_of(extensions, [name](const VkExtensionProperties& extension) {
    return extension.extensionName == name;
  });
}

std::string hexadecimal(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string uuidOf(VkPhysicalDevice device) { return hexadecimal(idsOf(device).deviceUUID); }

// OK, or why the driver cannot use the device.
Status checkDevice(VkPhysicalDevice device, const VkPhysicalDeviceProperties& properties,
                   const DeviceChoice& choice) {
  if (!choice.device.empty() && choice.device != properties.deviceName &&
      choice.device != driverName(properties.deviceName) && choice.device != uuidOf(device)) {
    return makeStatus(ResultCode::UNAVAILABLE_DEVICE, "it is not {}; its UUID is {}", choice.device,
                      uuidOf(device));
  }
  if (properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU && !choice.software) {
    return makeStatus(ResultCode::UNAVAILABLE_DEVICE,
                      "it computes on the processor; --software allows it for tests");
  }
  if (properties.apiVersion < kVersion) {
    return makeStatus(ResultCode::UNAVAILABLE_DEVICE, "its Vulkan is {}.{}, expected 1.2 or later",
                      VK_API_VERSION_MAJOR(properties.apiVersion),
                      VK_API_VERSION_MINOR(properties.apiVersion));
  }
  uint32_t families = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &families, nullptr);
  if (computeFamily(device) == families) {
    return makeStatus(ResultCode::UNAVAILABLE_DEVICE, "it has no queue for computations");
  }
  Features features;
  vkGetPhysicalDeviceFeatures2(device, &features.all);
  for (const auto& [feature, name] : features.needed()) {
    if (*feature == VK_FALSE) {
      return makeStatus(ResultCode::UNAVAILABLE_DEVICE, "it lacks the feature {}", name);
    }
  }
  return okStatus();
}

}  // namespace

std::string driverName(std::string_view deviceName) {
  std::string result = "vulkan-";
  for (const char c : deviceName.substr(0, deviceName.find(" ("))) {
    const bool isPlain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    result += isPlain ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '_';
  }
  return result;
}

Status vulkanStatus(VkResult result, std::string_view what) {
  switch (result) {
    case VK_SUCCESS:
      return okStatus();
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return makeStatus(ResultCode::OUT_OF_MEMORY, "{}: the device has too little memory", what);
    case VK_ERROR_DEVICE_LOST:
      return makeStatus(ResultCode::DEAD_OBJECT, "{}: the device is lost", what);
    case VK_TIMEOUT:
      return makeStatus(ResultCode::DEAD_OBJECT, "{}: the device has not answered for {} s", what,
                        kLongestNanoseconds / 1'000'000'000);
    default:
      return opFailed("{}: Vulkan's result is {}", what, static_cast<int>(result));
  }
}

Result<std::shared_ptr<VulkanDevice>> VulkanDevice::open(const DeviceChoice& choice) {
  auto device = std::make_shared<VulkanDevice>();
  device->choice_ = choice;
  HALYARD_RETURN_IF_ERROR(device->openInstance());
  HALYARD_RETURN_IF_ERROR(device->choose());
  HALYARD_RETURN_IF_ERROR(device->openDevice(), "{}", device->name());
  HALYARD_RETURN_IF_ERROR(device->makeLayouts(), "{}", device->name());
  return device;
}

VulkanDevice::~VulkanDevice() {
  // The destruction of a device that hangs may never return.
  if (isLost_) return;
  if (device_ != VK_NULL_HANDLE) {
    for (const auto& [key, pipeline] : pipelines_) {
      table_.vkDestroyPipeline(device_, pipeline, nullptr);
    }
    table_.vkDestroyPipelineCache(device_, pipelineCache_, nullptr);
    table_.vkDestroyPipelineLayout(device_, pipelineLayout_, nullptr);
    table_.vkDestroyDescriptorSetLayout(device_, setLayout_, nullptr);
    table_.vkDestroyDevice(device_, nullptr);
  }
  if (instance_ != VK_NULL_HANDLE) vkDestroyInstance(instance_, nullptr);
}

Status VulkanDevice::openInstance() {
  if (volkInitialize() != VK_SUCCESS) {
    return makeStatus(ResultCode::UNAVAILABLE_DEVICE, "there is no libvulkan.so.1");
  }
  VkApplicationInfo application = {};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "halyard";
  application.apiVersion = kVersion;
  VkInstanceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  const VkResult result = vkCreateInstance(&info, nullptr, &instance_);
  if (result != VK_SUCCESS) {
    return makeStatus(ResultCode::UNAVAILABLE_DEVICE, "{}",
                      vulkanStatus(result, "making a Vulkan instance").message());
  }
  volkLoadInstanceOnly(instance_);
  return okStatus();
}

Status VulkanDevice::choose() {
  uint32_t count = 0;
  HALYARD_RETURN_IF_ERROR(vulkanStatus(vkEnumeratePhysicalDevices(instance_, &count, nullptr),
                                       "counting Vulkan devices"));
  std::vector<VkPhysicalDevice> devices(count);
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      vkEnumeratePhysicalDevices(instance_, &count, devices.data()), "listing Vulkan devices"));
  std::string reasons;
  for (VkPhysicalDevice device : devices) {
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(device, &properties);
    const Status status = checkDevice(device, properties, choice_);
    if (status.ok()) {
      use(device);
      return okStatus();
    }
    reasons += fmt::format("; {}: {}", properties.deviceName, status.message());
  }
  return makeStatus(ResultCode::UNAVAILABLE_DEVICE, "{} Vulkan devices, none usable{}", count,
                    reasons);
}

Status VulkanDevice::openDevice() {
  const bool hasMatrices = forms_.matrices.isThere() || forms_.byteMatrices.isThere();
  Features features(forms_.dots, hasMatrices);
  for (const auto& [feature, name] : features.needed()) *feature = VK_TRUE;
  features.dots.shaderIntegerDotProduct = forms_.dots ? VK_TRUE : VK_FALSE;
  features.matrices.cooperativeMatrix = hasMatrices ? VK_TRUE : VK_FALSE;
  features.subgroups.computeFullSubgroups = features.matrices.cooperativeMatrix;
  features.v12.vulkanMemoryModel = features.matrices.cooperativeMatrix;
  features.v12.shaderInt8 = forms_.byteMatrices.isThere() ? VK_TRUE : VK_FALSE;
  features.v12.shaderFloat16 = forms_.halves ? VK_TRUE : VK_FALSE;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue = {};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = queueFamily_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features.all;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  std::vector<const char*> extensions;
  if (importAlignment_ != 0) extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  if (forms_.dots) extensions.push_back(kDots);
  if (hasMatrices) extensions.insert(extensions.end(), {kMatrices, kFullSubgroups});
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  HALYARD_RETURN_IF_ERROR(
      vulkanStatus(vkCreateDevice(physical_, &info, nullptr, &device_), "opening the device"));
  volkLoadDeviceTable(&table_, device_);
  table_.vkGetDeviceQueue(device_, queueFamily_, 0, &queue_);
  return okStatus();
}

Status VulkanDevice::makeLayouts() {
  VkDescriptorSetLayoutBinding bindings[2] = {};
  bindings[0].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  bindings[1].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
  bindings[1].binding = 1;
  for (VkDescriptorSetLayoutBinding& binding : bindings) {
    binding.descriptorCount = 1;
    binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo set = {};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = readsTexels_ ? 2 : 1;
  set.pBindings = bindings;
  HALYARD_RETURN_IF_ERROR(
      vulkanStatus(table_.vkCreateDescriptorSetLayout(device_, &set, nullptr, &setLayout_),
                   "making a layout of descriptors"));
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(DispatchConstants)};
  VkPipelineLayoutCreateInfo layout = {};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &setLayout_;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  HALYARD_RETURN_IF_ERROR(
      vulkanStatus(table_.vkCreatePipelineLayout(device_, &layout, nullptr, &pipelineLayout_),
                   "making a layout of pipelines"));
  VkPipelineCacheCreateInfo cache = {};
  cache.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  return vulkanStatus(table_.vkCreatePipelineCache(device_, &cache, nullptr, &pipelineCache_),
                      "making a cache of pipelines");
}

uint64_t VulkanDevice::mostBytes() const {
  // Indices of elements are 32 bits in shaders, with a sign.
  return std::min<uint64_t>(properties_.limits.maxStorageBufferRange, INT32_MAX);
}

std::optional<uint32_t> VulkanDevice::memoryType(uint32_t allowed,
                                                 VkMemoryPropertyFlags wanted) const {
  for (uint32_t i = 0; i < memories_.memoryTypeCount; ++i) {
    const bool isAllowed = (allowed >> i & 1) != 0;
    if (isAllowed && (memories_.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  }
  return std::nullopt;
}

Result<MemoryType> VulkanDevice::localMemory(uint32_t allowed) const {
  // Reads of mapped memory without a cache would take longer than a copy by the device.
  constexpr VkMemoryPropertyFlags kBoth = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kCached;
  if (choice_.mapsMemory) {
    if (const auto type = memoryType(allowed, kBoth)) return MemoryType{*type, true};
  }
  if (const auto type = memoryType(allowed, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)) {
    return MemoryType{*type, false};
  }
  return makeStatus(ResultCode::OUT_OF_MEMORY, "the device has no memory of its own");
}

Result<MemoryType> VulkanDevice::stagingMemory(uint32_t allowed) const {
  for (const VkMemoryPropertyFlags wanted : {kCached, kMappable}) {
    if (const auto type = memoryType(allowed, wanted)) return MemoryType{*type, true};
  }
  return makeStatus(ResultCode::OUT_OF_MEMORY, "the device has no memory that can be mapped");
}

void VulkanDevice::use(VkPhysicalDevice device) {
  physical_ = device;
  vkGetPhysicalDeviceProperties(device, &properties_);
  vkGetPhysicalDeviceMemoryProperties(device, &memories_);
  queueFamily_ = computeFamily(device);
  uuid_ = uuidOf(device);
  readsTexels_ =
      !choice_.gpuShaders && !choice_.gpuArithmetic && hasSoftwareLanes(device, properties_);
  forms_ = chooseForms();
  if (!hasExtension(device, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) return;
  importAlignment_ =
      propertiesOf<VkPhysicalDeviceExternalMemoryHostPropertiesEXT>(
          device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT)
          .minImportedHostPointerAlignment;
}

ShaderForms VulkanDevice::chooseForms() const {
  ShaderForms forms = {readsTexels_ ? kSoftwareLanes : kGroupSize};
  if (readsTexels_) return forms;
  const bool hasDots = hasExtension(physical_, kDots);
  Features features(hasDots);
  vkGetPhysicalDeviceFeatures2(physical_, &features.all);
  forms.halves = features.v12.shaderFloat16 != VK_FALSE && (!isSoftware() || choice_.gpuArithmetic);
  if (hasDots && features.dots.shaderIntegerDotProduct != VK_FALSE) {
    const auto speeds = propertiesOf<VkPhysicalDeviceShaderIntegerDotProductPropertiesKHR>(
        physical_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES_KHR);
    forms.dots =
        choice_.gpuArithmetic || speeds.integerDotProduct4x8BitPackedSignedAccelerated != VK_FALSE;
  }
  if (!isSoftware() || choice_.gpuArithmetic) chooseMatrices(forms);
  return forms;
}

void VulkanDevice::chooseMatrices(ShaderForms& forms) const {
  if (!hasExtension(physical_, kMatrices) || !hasExtension(physical_, kFullSubgroups)) return;
  Features features(false, true);
  vkGetPhysicalDeviceFeatures2(physical_, &features.all);
  if (features.matrices.cooperativeMatrix == VK_FALSE ||
      features.subgroups.computeFullSubgroups == VK_FALSE ||
      features.v12.vulkanMemoryModel == VK_FALSE) {
    return;
  }
  const uint32_t lanes = subgroupsOf(physical_).subgroupSize;
  const auto listed = listedMatrices(instance_, physical_);
  if (features.v12.shaderFloat16 != VK_FALSE) {
    forms.matrices = vulkandriver::chooseMatrices(listed, false, lanes);
  }
  if (features.v12.shaderInt8 != VK_FALSE) {
    forms.byteMatrices = vulkandriver::chooseMatrices(listed, true, lanes);
  }
}

std::string VulkanDevice::codeIdentity() const {
  const VkPhysicalDeviceIDProperties ids = idsOf(physical_);
  return fmt::format("{} {} {:#x} {} {} {:#x} {:#x}", name(), uuid_, properties_.driverVersion,
                     hexadecimal(ids.driverUUID), hexadecimal(properties_.pipelineCacheUUID),
                     properties_.vendorID, properties_.deviceID);
}

Result<std::vector<uint8_t>> VulkanDevice::pipelineData() const {
  const std::lock_guard lock(pipelineMutex_);
  size_t bytes = 0;
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      table_.vkGetPipelineCacheData(device_, pipelineCache_, &bytes, nullptr), "sizing code"));
  std::vector<uint8_t> data(bytes);
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      table_.vkGetPipelineCacheData(device_, pipelineCache_, &bytes, data.data()), "saving code"));
  data.resize(bytes);
  return data;
}

Status VulkanDevice::addPipelineData(std::span<const uint8_t> data) {
  VkPipelineCacheCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  VkPipelineCache loaded = VK_NULL_HANDLE;
  HALYARD_RETURN_IF_ERROR(
      vulkanStatus(table_.vkCreatePipelineCache(device_, &info, nullptr, &loaded), "loading code"));
  const std::lock_guard lock(pipelineMutex_);
  const VkResult merged = table_.vkMergePipelineCaches(device_, pipelineCache_, 1, &loaded);
  table_.vkDestroyPipelineCache(device_, loaded, nullptr);
  return vulkanStatus(merged, "loading code");
}

Result<VkPipeline> VulkanDevice::pipeline(Shader shader, const Variant& variant) {
  const std::lock_guard lock(pipelineMutex_);
  VkPipeline& pipeline = pipelines_[{shader, variant}];
  if (pipeline != VK_NULL_HANDLE) return pipeline;
  std::span<const uint32_t> code = shaderCode(shader, readsTexels_);
  std::vector<uint32_t> made;
  VkPipelineShaderStageCreateFlags flags = 0;
  if (shader == Shader::MATRICES || shader == Shader::BYTE_MATRICES) {
    const bool isOfBytes = shader == Shader::BYTE_MATRICES;
    made = matrixCode(code, isOfBytes ? forms_.byteMatrices : forms_.matrices, isOfBytes);
    code = made;
    flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
  }
  VkShaderModuleCreateInfo moduleInfo = {};
  moduleInfo.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  moduleInfo.codeSize = code.size_bytes();
  moduleInfo.pCode = code.data();
  VkShaderModule module = VK_NULL_HANDLE;
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      table_.vkCreateShaderModule(device_, &moduleInfo, nullptr, &module), "loading a shader"));
  std::array<VkSpecializationMapEntry, std::tuple_size_v<Variant>> entries;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    entries[i] = {i, i * static_cast<uint32_t>(sizeof(int32_t)), sizeof(int32_t)};
  }
  const VkSpecializationInfo specialisation = {static_cast<uint32_t>(entries.size()),
                                               entries.data(), sizeof(Variant), variant.data()};
  VkComputePipelineCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.flags = flags;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &specialisation;
  info.layout = pipelineLayout_;
  const VkResult result =
      table_.vkCreateComputePipelines(device_, pipelineCache_, 1, &info, nullptr, &pipeline);
  table_.vkDestroyShaderModule(device_, module, nullptr);
  HALYARD_RETURN_IF_ERROR(vulkanStatus(result, "making a pipeline"));
  return pipeline;
}

Status VulkanDevice::submit(std::span<const VkCommandBuffer> commands, hal::Priority priority,
                            const std::optional<hal::TimePoint>& deadline) {
  HALYARD_RETURN_IF_ERROR(gate_.enter(priority, deadline));
  Status status = runNow(commands);
  gate_.leave(priority);
  return status;
}

Status VulkanDevice::runNow(std::span<const VkCommandBuffer> commands) {
  if (isLost_) return makeStatus(ResultCode::DEAD_OBJECT, "the device is lost");
  VkFenceCreateInfo fenceInfo = {};
  fenceInfo.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  VkFence fence = VK_NULL_HANDLE;
  HALYARD_RETURN_IF_ERROR(
      vulkanStatus(table_.vkCreateFence(device_, &fenceInfo, nullptr, &fence), "making a fence"));
  VkSubmitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = static_cast<uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();
  VkResult result = VK_SUCCESS;
  {
    const std::lock_guard lock(mutex_);
    result = table_.vkQueueSubmit(queue_, 1, &info, fence);
  }
  if (result == VK_SUCCESS) {
    result = table_.vkWaitForFences(device_, 1, &fence, VK_TRUE, kLongestNanoseconds);
  }
  if (failure_ != VK_SUCCESS && untilFailure_.fetch_sub(1) == 0) {
    result = failure_.exchange(VK_SUCCESS);
  }
  Status status = vulkanStatus(result, "running the model");
  if (status.code() == ResultCode::DEAD_OBJECT) {
    // A process that ends with its device must not answer others before: only its end tells clients
    // that the device is dead.
    std::call_once(loss_, [&] {
      if (choice_.onLost) choice_.onLost(status);
    });
    isLost_ = true;
  }
  // A device that hangs still uses the fence.
  if (!isLost_) table_.vkDestroyFence(device_, fence, nullptr);
  return status;
}

}  // namespace halyard::vulkandriver

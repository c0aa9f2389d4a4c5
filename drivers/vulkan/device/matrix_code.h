// Cooperative matrices (VK_KHR_cooperative_matrix): the sizes that a device has, and the code of
// shaders/matrices.comp for one of them.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/shader_code.h"
#include "device/volk.h"

// Headers before Vulkan 1.3.255 do not have the extension.
#ifndef VK_KHR_cooperative_matrix
#define VK_KHR_cooperative_matrix 1
#define VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME "VK_KHR_cooperative_matrix"
inline constexpr auto VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR =
    static_cast<VkStructureType>(1000506000);
inline constexpr auto VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR =
    static_cast<VkStructureType>(1000506001);
enum VkComponentTypeKHR : int32_t {
  VK_COMPONENT_TYPE_FLOAT16_KHR = 0,
  VK_COMPONENT_TYPE_FLOAT32_KHR = 1,
  VK_COMPONENT_TYPE_SINT8_KHR = 3,
  VK_COMPONENT_TYPE_SINT32_KHR = 5
};
enum VkScopeKHR : int32_t { VK_SCOPE_SUBGROUP_KHR = 3 };
struct VkCooperativeMatrixPropertiesKHR {
  VkStructureType sType;
  void* pNext;
  uint32_t MSize;
  uint32_t NSize;
  uint32_t KSize;
  VkComponentTypeKHR AType;
  VkComponentTypeKHR BType;
  VkComponentTypeKHR CType;
  VkComponentTypeKHR ResultType;
  VkBool32 saturatingAccumulation;
  VkScopeKHR scope;
};
struct VkPhysicalDeviceCooperativeMatrixFeaturesKHR {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrix;
  VkBool32 cooperativeMatrixRobustBufferAccess;
};
using PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR =
    VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, VkCooperativeMatrixPropertiesKHR*);
#endif

namespace halyard::vulkandriver {

// The matrices that a device with the extension lists.
std::vector<VkCooperativeMatrixPropertiesKHR> listedMatrices(VkInstance instance,
                                                             VkPhysicalDevice device);

// The largest of the listed matrices that suit the shader. 0: there is no such size.
MatrixSize chooseMatrices(std::span<const VkCooperativeMatrixPropertiesKHR> listed, bool bytes,
                          uint32_t subgroupSize);

// The shader's code with the types of matrices that have this size.
std::vector<uint32_t> matrixCode(std::span<const uint32_t> code, const MatrixSize& size,
                                 bool bytes);

}  // namespace halyard::vulkandriver

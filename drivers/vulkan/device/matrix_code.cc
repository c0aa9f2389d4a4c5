#include "device/matrix_code.h"

#include <array>

namespace halyard::vulkandriver {
namespace {

// As in shaders/matrices.comp.
constexpr uint32_t kTileRows = 64;
constexpr uint32_t kTileColumns = 32;
constexpr uint32_t kPartBytes = 64;
// SPIR-V: the words of its header, and instructions.
constexpr size_t kHeaderWords = 5;
constexpr size_t kBoundWord = 3;  // all names are below
constexpr uint32_t kTypeInt = 21;
constexpr uint32_t kTypeFloat = 22;
constexpr uint32_t kConstant = 43;
constexpr uint32_t kTypeMatrix = 4456;

// A size of 0 would be an error of the device.
bool divides(uint32_t size, uint32_t whole) { return size != 0 && whole % size == 0; }

}  // namespace

std::vector<VkCooperativeMatrixPropertiesKHR> listedMatrices(VkInstance instance,
                                                             VkPhysicalDevice device) {
  const auto list = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t count = 0;
  if (list == nullptr || list(device, &count, nullptr) != VK_SUCCESS) return {};
  VkCooperativeMatrixPropertiesKHR empty = {};
  empty.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
  std::vector<VkCooperativeMatrixPropertiesKHR> listed(count, empty);
  if (list(device, &count, listed.data()) != VK_SUCCESS) return {};
  listed.resize(count);
  return listed;
}

MatrixSize chooseMatrices(std::span<const VkCooperativeMatrixPropertiesKHR> listed, bool bytes,
                          uint32_t subgroupSize) {
  MatrixSize best;
  if (subgroupSize == 0 || kGroupSize % subgroupSize != 0) return best;
  const uint32_t subgroups = kGroupSize / subgroupSize;
  const VkComponentTypeKHR input =
      bytes ? VK_COMPONENT_TYPE_SINT8_KHR : VK_COMPONENT_TYPE_FLOAT16_KHR;
  const VkComponentTypeKHR sum =
      bytes ? VK_COMPONENT_TYPE_SINT32_KHR : VK_COMPONENT_TYPE_FLOAT32_KHR;
  const uint32_t partDepth = kPartBytes / (bytes ? 1 : 2);
  for (const VkCooperativeMatrixPropertiesKHR& one : listed) {
    const bool hasTypes = one.AType == input && one.BType == input && one.CType == sum &&
                          one.ResultType == sum && one.saturatingAccumulation == VK_FALSE &&
                          one.scope == VK_SCOPE_SUBGROUP_KHR;
    if (!hasTypes || !divides(one.MSize, kTileRows) || !divides(one.NSize, kTileColumns) ||
        !divides(one.KSize, partDepth)) {
      continue;
    }
    const uint32_t matrices = kTileRows / one.MSize * (kTileColumns / one.NSize);
    if (matrices % subgroups != 0) continue;
    if (one.MSize * one.NSize * one.KSize > best.rows * best.columns * best.depth) {
      best = {one.MSize, one.NSize, one.KSize, subgroups};
    }
  }
  return best;
}

std::vector<uint32_t> matrixCode(std::span<const uint32_t> code, const MatrixSize& size,
                                 bool bytes) {
  const uint32_t sizes[] = {size.rows, size.columns, size.depth};
  std::vector<uint32_t> made;
  uint32_t integer = 0;  // types: of sizes, inputs and sums
  uint32_t input = 0;
  uint32_t sum = 0;
  uint32_t bound = code[kBoundWord];
  const auto constant = [&](uint32_t value) {
    made.insert(made.end(), {4 << 16 | kConstant, integer, bound, value});
    return bound++;
  };
  made.insert(made.end(), code.begin(), code.begin() + kHeaderWords);
  for (size_t i = kHeaderWords; i < code.size() && code[i] >> 16 != 0; i += code[i] >> 16) {
    const std::span<const uint32_t> words = code.subspan(i, code[i] >> 16);
    const uint32_t instruction = words[0] & 0xffff;
    if (instruction == kTypeMatrix) {
      const uint32_t scope = constant(words[3]);
      const uint32_t rows = constant(sizes[words[4]]);
      const uint32_t columns = constant(sizes[words[5]]);
      const uint32_t use = constant(words[6]);
      made.insert(made.end(),
                  {words[0], words[1], words[2] == 0 ? input : sum, scope, rows, columns, use});
      continue;
    }
    if (instruction == kTypeInt && words[3] == 1 && words[2] == 32) integer = words[1];
    if (instruction == (bytes ? kTypeInt : kTypeFloat)) {
      const bool isSigned = !bytes || words[3] == 1;
      if (isSigned && words[2] == (bytes ? 8u : 16u)) input = words[1];
      if (isSigned && words[2] == 32) sum = words[1];
    }
    made.insert(made.end(), words.begin(), words.end());
  }
  made[kBoundWord] = bound;
  return made;
}

}  // namespace halyard::vulkandriver

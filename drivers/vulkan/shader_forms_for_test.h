// ShaderFormsTest: a driver on a software device, with the shaders for such devices, with those for
// GPUs, and with their integer dot products and float16 arithmetic. Skips the test if there is no
// device. Thread safety: for tests, one thread. Ownership: owns the driver.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "vulkan_driver.h"

namespace halyard::vulkandriver::testing {

class ShaderFormsTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::vector<std::string> arguments = {"--software"};
    if (!GetParam().empty()) arguments.push_back(GetParam());
    const auto made = makeVulkanDriver(arguments);
    if (!made.ok()) {
      GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED: " << made.status().toString();
    }
    device_ = *made;
  }

  std::shared_ptr<hal::Device> device_;
};

inline const auto kShaderForms = ::testing::Values("", "--gpu-shaders", "--gpu-arithmetic");
inline std::string shaderFormName(const ::testing::TestParamInfo<std::string>& info) {
  if (info.param.empty()) return "Software";
  return info.param == "--gpu-shaders" ? "Gpu" : "GpuArithmetic";
}

}  // namespace halyard::vulkandriver::testing

// The Vulkan driver for the tests of lost devices: it loses its device at the third submission.
#include <cstdlib>

#include "device/vulkan_device.h"
#include "halyard/driver/driver_main.h"
#include "vulkan_driver.h"

int main(int argc, char** argv) {
  using halyard::Result;
  using halyard::hal::Device;
  namespace vulkan = halyard::vulkandriver;
  return halyard::hal::driverMain(argc, argv, []() -> Result<std::shared_ptr<Device>> {
    HALYARD_ASSIGN_OR_RETURN(
        const std::shared_ptr<vulkan::VulkanDevice> device,
        vulkan::VulkanDevice::open(
            {.software = true, .onLost = [](const halyard::Status&) { std::_Exit(1); }}));
    device->failSubmission(VK_ERROR_DEVICE_LOST, 2);
    return vulkan::makeVulkanDriverOn(device, {.measuresSpeed = false, .saves = false});
  });
}

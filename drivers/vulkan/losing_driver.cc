// The Vulkan driver for the tests of lost devices: its third submission loses the device with the
// argument --lost, and is never answered with --hang.
#include <cstdlib>

#include "device/vulkan_device.h"
#include "halyard/driver/driver_main.h"
#include "vulkan_driver.h"

int main(int argc, char** argv) {
  using halyard::Result;
  using halyard::hal::Device;
  namespace vulkan = halyard::vulkandriver;
  using Arguments = std::span<const std::string>;
  return halyard::hal::driverMain(
      argc, argv, [](Arguments arguments) -> Result<std::shared_ptr<Device>> {
        if (arguments.size() != 1 || (arguments[0] != "--lost" && arguments[0] != "--hang")) {
          return halyard::badData("expected --lost or --hang");
        }
        HALYARD_ASSIGN_OR_RETURN(
            const std::shared_ptr<vulkan::VulkanDevice> device,
            vulkan::VulkanDevice::open(
                {.software = true, .onLost = [](const halyard::Status&) { std::_Exit(1); }}));
        device->failSubmission(arguments[0] == "--hang" ? VK_TIMEOUT : VK_ERROR_DEVICE_LOST, 2);
        return vulkan::makeVulkanDriverOn(device, {.measuresSpeed = false, .saves = false});
      });
}

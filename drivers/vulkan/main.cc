// The Vulkan driver's executable.
#include "halyard/driver/driver_main.h"
#include "vulkan_driver.h"

int main(int argc, char** argv) {
  return halyard::hal::driverMain(argc, argv, halyard::vulkandriver::makeVulkanDriver);
}

// The Vulkan driver's executable.
#include <cstdio>
#include <cstdlib>

#include "halyard/driver/driver_main.h"
#include "vulkan_driver.h"

int main(int argc, char** argv) {
  using halyard::Status;
  // The runtime starts the next process, which opens the device again.
  const auto endProcess = [](const Status& status) {
    fmt::print(stderr, "halyard-driver-vulkan: the process ends: {}\n", status.message());
    std::_Exit(1);
  };
  return halyard::hal::driverMain(argc, argv, [&](std::span<const std::string> arguments) {
    return halyard::vulkandriver::makeVulkanDriver(arguments, endProcess);
  });
}

// The Vulkan driver's executable.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>

#include "halyard/driver/driver_main.h"
#include "vulkan_driver.h"

int main(int argc, char** argv) {
  using halyard::Status;
  // Released buffers of software devices go back to the system at once. Otherwise the heap of each
  // thread keeps some of them.
  constexpr int kLarge = 256 << 10;
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
  // The runtime starts the next process, which opens the device again.
  const auto endProcess = [](const Status& status) {
    fmt::print(stderr, "halyard-driver-vulkan: the process ends: {}\n", status.message());
    std::_Exit(1);
  };
  return halyard::hal::driverMain(argc, argv, [&](std::span<const std::string> arguments) {
    return halyard::vulkandriver::makeVulkanDriver(arguments, endProcess);
  });
}

// The CPU driver as a library for the application's own process (halyard/driver/driver_library.h).

#include "base/environment.h"
#include "cpu_driver.h"
#include "halyard/driver/driver_library.h"

namespace {

// A library gets no arguments: HALYARD_CPU_THREADS=N stands for --threads=N.
halyard::Result<std::shared_ptr<halyard::hal::Device>> makeDevice() {
  const char* const threads = halyard::environmentVariable("HALYARD_CPU_THREADS");
  if (threads == nullptr) return halyard::cpudriver::makeCpuDriver();
  const std::string arguments[] = {std::string("--threads=") + threads};
  return halyard::cpudriver::makeCpuDriver(arguments);
}

}  // namespace

HALYARD_DRIVER_LIBRARY(makeDevice);

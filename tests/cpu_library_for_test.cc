// The CPU driver in the application's process, with a cache of all that it compiles: for
// caching_test.
#include "cpu_driver.h"
#include "halyard/driver/driver_library.h"

HALYARD_DRIVER_LIBRARY([] {
  const std::string arguments[] = {"--cache-all"};
  return halyard::cpudriver::makeCpuDriver(arguments);
});

// The CPU driver's executable.
#include "cpu_driver.h"
#include "halyard/driver/driver_main.h"

int main(int argc, char** argv) {
  using namespace halyard;  // NOLINT(google-build-using-namespace)
  return hal::driverMain(argc, argv, [](std::span<const std::string> arguments) {
    return cpudriver::makeCpuDriver(arguments, cpudriver::HostProcess::OWN);
  });
}

// The CPU driver's executable.
#include "cpu_driver.h"
#include "halyard/driver/driver_main.h"

int main(int argc, char** argv) {
  return halyard::hal::driverMain(argc, argv, halyard::cpudriver::makeCpuDriver);
}

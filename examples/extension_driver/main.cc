// The executable of the driver with the extension com.example.fused.
#include <halyard/driver/driver.h>

#include "fused_device.h"

int main(int argc, char** argv) {
  return halyard::hal::driverMain(argc, argv, [] { return example::makeFusedDevice(); });
}

// The reference driver's executable.
#include "halyard/driver/driver_main.h"
#include "reference_device.h"

int main(int argc, char** argv) {
  return halyard::hal::driverMain(argc, argv, halyard::drivers::makeReferenceDevice);
}

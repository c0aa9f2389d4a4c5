// The null driver's executable.
#include <halyard/driver/driver.h>

#include "null_device.h"

int main(int argc, char** argv) {
  return halyard::hal::driverMain(argc, argv, [] { return acme::makeNullDevice(); });
}

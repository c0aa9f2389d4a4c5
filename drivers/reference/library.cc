// The reference driver as a library, for tests of drivers in the application's own process.
#include "halyard/driver/driver_library.h"
#include "reference_device.h"

namespace {

halyard::Result<std::shared_ptr<halyard::hal::Device>> makeDevice() {
  return halyard::drivers::makeReferenceDevice();
}

}  // namespace

HALYARD_DRIVER_LIBRARY(makeDevice);

// The reference driver's executable.
#include "halyard/driver/driver_main.h"
#include "reference_device.h"

int main(int argc, char** argv) {
  using halyard::Result;
  using halyard::hal::Device;
  return halyard::hal::driverMain(argc, argv, []() -> Result<std::shared_ptr<Device>> {
    return halyard::drivers::makeReferenceDevice();
  });
}

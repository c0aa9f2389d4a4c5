// libhalyard_driver: a reference to driverMain. It makes the linker take driverMain, and all code
// that it needs, into the library.
#include "halyard/driver/driver_main.h"

namespace halyard::hal {

using PlainMain = int (*)(int, char**, const std::function<Result<std::shared_ptr<Device>>()>&);
[[gnu::used]] static const PlainMain kTakesDriverMain = &driverMain;

}  // namespace halyard::hal

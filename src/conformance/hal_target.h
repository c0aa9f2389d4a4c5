// A Target on a hal::Device, without the runtime. It validates as the runtime does.
// Thread safety and ownership: as Target; shares the device.
#pragma once

#include <memory>

#include "conformance/target.h"
#include "halyard/driver/device.h"

namespace halyard::conformance {

std::unique_ptr<Target> makeHalTarget(std::shared_ptr<hal::Device> device);

}  // namespace halyard::conformance

// The null driver's device: correct, and of no use. It supports no operation.
// Thread safety: as hal::Device.
// Ownership: owns nothing beside its description.
#pragma once

#include <halyard/driver/driver.h>

namespace acme {

// Where a driver opens its hardware: an error ends the process, and its text reaches the user.
halyard::Result<std::shared_ptr<halyard::hal::Device>> makeNullDevice();

}  // namespace acme

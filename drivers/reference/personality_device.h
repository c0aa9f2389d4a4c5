// The reference driver's device: the CPU executor with the behaviour of a Personality.
// Thread safety: as hal::Device.
// Ownership: owns its thread pool.
#pragma once

#include <memory>

#include "halyard/driver/device.h"
#include "personality.h"

namespace halyard::drivers {

// Faults at the start happen in this function.
Result<std::shared_ptr<hal::Device>> makePersonalityDevice(Personality personality);

}  // namespace halyard::drivers

// The reference driver's device: the CPU executor, behaving as a Personality says.
// Thread safety: as hal::Device. Ownership: owns its thread pool.
#pragma once

#include <memory>

#include "halyard/driver/device.h"
#include "personality.h"

namespace halyard::drivers {

// Its faults at the start happen here.
Result<std::shared_ptr<hal::Device>> makePersonalityDevice(Personality personality);

}  // namespace halyard::drivers

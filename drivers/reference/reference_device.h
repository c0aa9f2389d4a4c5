// The reference driver's device: the CPU executor under the name halyard-reference.
// Thread safety: as hal::Device. Ownership: owns its thread pool.
#pragma once

#include <memory>

#include "halyard/driver/device.h"

namespace halyard::drivers {

// Supports every operation that the executor has, at figures slightly worse (1.1) than those of the
// runtime's own CPU device, which needs no other process.
std::shared_ptr<hal::Device> makeReferenceDevice();

}  // namespace halyard::drivers

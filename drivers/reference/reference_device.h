// The reference driver's device for its arguments: every operation, computed by the CPU executor.
// Thread safety: as hal::Device.
// Ownership: owns its thread pool.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "halyard/driver/device.h"

namespace halyard::drivers {

// Without arguments: everything that the executor has, under the name halyard-reference.
//   --personality FILE   behaves as the file says (docs/reference_driver.md)
// BAD_DATA for other arguments and for a file that is not right.
Result<std::shared_ptr<hal::Device>> makeReferenceDevice(
    std::span<const std::string> arguments = {});

}  // namespace halyard::drivers

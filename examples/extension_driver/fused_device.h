// A device that does the two operations of the extension com.example.fused, and nothing else.
// Thread safety: as hal::Device. Ownership: owns nothing beside its description.
#pragma once

#include <halyard/driver/driver.h>

namespace example {

halyard::Result<std::shared_ptr<halyard::hal::Device>> makeFusedDevice();

}  // namespace example

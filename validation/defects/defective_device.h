// The reference driver's device with a defect.
// Thread safety: as hal::Device.
// Ownership: owns the inner device.
#pragma once

#include <memory>

#include "validation/defects/defect.h"

namespace halyard::defects {

// The device's name is test-defect.
Result<std::shared_ptr<hal::Device>> makeDefectiveDevice(const Defect& defect);

}  // namespace halyard::defects

// The JSON object "capabilities", of capability files and of the reference driver's personalities.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "hal/core/field_reader.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// Fields: "default" for every figure; "relaxed_scalar", "relaxed_tensor", "if", "while", and in
// "operand_types" by type, what differs. Each figure is {"exec_time": T, "power_usage": P}. What is
// not given stays as it is in `to`.
void readCapabilities(FieldReader& from, Status* status, Capabilities* to);

}  // namespace halyard::hal

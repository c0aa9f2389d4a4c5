// The JSON object "capabilities" of capability files and of the reference driver's personalities.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include "hal/core/field_reader.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// Reads the fields. "default" sets every figure. "relaxed_scalar", "relaxed_tensor", "if", "while",
// and types in "operand_types" set single figures. Each figure is {"exec_time": T, "power_usage":
// P}. Figures without a field keep their value in `to`.
void readCapabilities(FieldReader& from, Status* status, Capabilities* to);

}  // namespace halyard::hal

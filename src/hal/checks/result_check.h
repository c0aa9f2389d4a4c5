// Checks whether a driver's report of an execution is allowed by the HAL.
// Thread safety: pure functions.
// Ownership: none.
//
// Every answer of a driver passes here. In the client's process (RemotePreparedModel), this check
// protects against untrusted drivers. In the driver's process (SessionPreparedModel), it covers
// drivers that are libraries, and errors of honest drivers.
#pragma once

#include "hal/checks/operand_sizes.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// Turns a result that contradicts itself, the model or the request into OP_FAILED. The rules: There
// is one shape per output. Shapes agree with known dimensions, and need no more than the output's
// buffer. Shapes are present if only the driver can know them. All outputs of a success fit.
// OUTPUT_INSUFFICIENT_SIZE has an output that does not fit. If the time on the device exceeds the
// time in the driver, both are dropped. `sizes`: includes the types of the driver's extensions.
// `request`: as the driver received it, with existing pools.
void checkResult(const Model& model, const Request& request, const OperandSizes& sizes,
                 ExecutionResult& result);

}  // namespace halyard::hal

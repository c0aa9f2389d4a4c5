// Whether what a driver reports of an execution is what the HAL allows.
// Thread safety: pure functions. Ownership: none.
//
// Every answer of a driver passes here, on whatever way it comes: in the process of its client
// (RemotePreparedModel), where nothing of it is believed, and in the driver's own
// (SessionPreparedModel), for drivers that are libraries and for the mistakes of honest ones.
#pragma once

#include "hal/checks/operand_sizes.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// Makes an OP_FAILED of a result that contradicts itself, the model or the request: shapes that are
// not one per output, that disagree with known dimensions, that need more than the output's buffer
// has, or that are missing although only the driver can know them; a success with an output that
// did not fit; OUTPUT_INSUFFICIENT_SIZE with none that did not. Times that cannot be, more on the
// device than in the driver, are dropped. `sizes`: with the types of the driver's extensions.
// `request`: as the driver got it, with pools that exist.
void checkResult(const Model& model, const Request& request, const OperandSizes& sizes,
                 ExecutionResult& result);

}  // namespace halyard::hal

// Whether what a driver reports of an execution is what the HAL allows.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// Makes an OP_FAILED of a result that contradicts itself, the model or the request: shapes that are
// not one per output, that disagree with known dimensions, or that are missing although only the
// driver can know them; a success with an output that did not fit; OUTPUT_INSUFFICIENT_SIZE with
// none that did not. Times that cannot be, more on the device than in the driver, are dropped.
void checkResult(const Model& model, const Request& request, ExecutionResult& result);

}  // namespace halyard::hal

// Whether a preparation or an execution may continue. Thread safety: pure functions. Ownership:
// none.
#pragma once

#include "halyard/driver/export.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// Call it between the steps of work that takes longer than about a millisecond. OP_FAILED when the
// execution has been cancelled (its client has gone). MISSED_DEADLINE_TRANSIENT when its deadline
// has passed. Costs some tens of nanoseconds.
HALYARD_EXPORT Status checkMayContinue(const ExecuteOptions& options);
// The same for a preparation.
HALYARD_EXPORT Status checkMayContinue(const PrepareOptions& options);

}  // namespace halyard::hal

// Checks the shapes that a device reports for the outputs of an execution.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "halyard/driver/hal_types.h"

namespace halyard::runtime {

// OP_FAILED unless output `index` can have the shape `reported`. `known` holds the dimensions known
// before the execution.
Status checkReportedShape(size_t index, const Operand& operand, const Shape& known,
                          const Shape& reported);

}  // namespace halyard::runtime

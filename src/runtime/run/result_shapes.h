// What a device reports of the outputs of an execution, checked against what is known of them.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "halyard/driver/hal_types.h"

namespace halyard::runtime {

// OP_FAILED unless `reported` can be the shape of output `index`, of which `known` is known.
Status checkReportedShape(size_t index, const Operand& operand, const Shape& known,
                          const Shape& reported);

}  // namespace halyard::runtime

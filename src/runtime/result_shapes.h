// What a device reports of the outputs of an execution, checked against what is known of them.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "halyard/driver/hal_types.h"

namespace halyard::runtime {

// `given` where it says something, `model` elsewhere.
Shape knownShape(const Shape& model, const Shape& given);
// OP_FAILED unless `reported` can be the shape of output `index`, of which `known` is known.
Status checkReportedShape(size_t index, const Operand& operand, const Shape& known,
                          const Shape& reported);
// The rules of the HAL for the shapes of a result that is OK or OUTPUT_INSUFFICIENT_SIZE: none at
// all or one per output; sufficient ones exactly with OK; that can be. OP_FAILED otherwise.
Status checkReportedShapes(const Model& model, const hal::Request& request,
                           const hal::ExecutionResult& result);

}  // namespace halyard::runtime

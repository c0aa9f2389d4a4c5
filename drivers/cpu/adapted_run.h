// Runs a compiled model for a request that it does not take as it is: through copies of arguments
// that are not aligned, and not at all where results have no room.
// Thread safety: as CompiledModel::run. Ownership: borrows everything for the call.
#pragma once

#include "compiled_model.h"
#include "halyard/driver/mapped_request.h"

namespace halyard::cpudriver {

// As cpu::Executor::execute for `mapped`, whose request is for `model`, what `compiled` was
// compiled from.
hal::ExecutionResult runAdapted(CompiledModel& compiled, const Model& model,
                                const hal::MappedRequest& mapped,
                                const hal::ExecuteOptions& options);

}  // namespace halyard::cpudriver

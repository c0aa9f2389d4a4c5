// Runs a compiled model for a request that the model does not take unchanged. Arguments that are
// not aligned are copied. A request whose results have no room does not run.
// Thread safety: as CompiledModel::run.
// Ownership: borrows everything for the call.
#pragma once

#include "compiled_model.h"
#include "halyard/driver/mapped_request.h"

namespace halyard::cpudriver {

// As cpu::Executor::execute for `mapped`. Its request is for `model`, from which `compiled` was
// made.
hal::ExecutionResult runAdapted(CompiledModel& compiled, const Model& model,
                                const hal::MappedRequest& mapped,
                                const hal::ExecuteOptions& options);

}  // namespace halyard::cpudriver

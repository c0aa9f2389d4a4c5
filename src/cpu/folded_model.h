// A model in which constants take the place of the operations that compute them
// (cpu/constant_folding.h). It is for drivers that prepare constants in a form of their own.
// Thread safety: pure function.
// Ownership: the result shares the pools of the model.
#pragma once

#include <memory>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard::cpu {

// `model` must have passed validateModel. Operands keep their numbers, and the main subgraph loses
// operations. Returns the same model if it computes no such constants, and errors as
// ExecutionPlan::make.
Result<std::shared_ptr<const Model>> withFoldedConstants(std::shared_ptr<const Model> model);

}  // namespace halyard::cpu

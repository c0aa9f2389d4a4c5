// The area "crash": the driver under many clients, clients that die, and high load.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include <chrono>

#include "validation/kit/check.h"

namespace halyard::validation {

// The checks. Their names are those of NNAPI's ML test suite, except resource-growth-stress and
// slowdown-stress. Each lasts about `each`, performance-degradation-stress about twice as long.
// They need a program with the subcommand stress-client (client_process.h). `limit` is the limit of
// each check; its clients get at least half of it. With 0 each check has a limit of its own.
std::vector<Check> crashChecks(std::chrono::milliseconds each, uint64_t seed,
                               std::chrono::milliseconds limit = std::chrono::milliseconds(0));

// The duration is 1.5 s each in a quick run, and 30 s each in a full run.
Result<std::vector<Check>> listCrash(const TargetSpec& target, const Plan& plan);

}  // namespace halyard::validation

// The area "crash": what a driver does under many clients, clients that die, and much load.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <chrono>

#include "validation/kit/check.h"

namespace halyard::validation {

// The tests, with names as the ML test suite of NNAPI has them, and one of its own: growth. Each
// lasts about `each`, the last one twice that and more. They need a program that knows
// stress-client: see client_process.h. `limit` is that of each check, of which half is the
// clients'; 0: each has its own.
std::vector<Check> crashChecks(std::chrono::milliseconds each, uint64_t seed,
                               std::chrono::milliseconds limit = std::chrono::milliseconds(0));

// Quick: 1.5 s each. Full: 30 s each.
Result<std::vector<Check>> listCrash(const TargetSpec& target, const Plan& plan);

}  // namespace halyard::validation

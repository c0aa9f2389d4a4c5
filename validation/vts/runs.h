// Executions of the built-in models, with everything checked that comes of them.
// Thread safety: the functions may run in several threads at once. Ownership: none.
#pragma once

#include <functional>

#include "validation/vts/hal_client.h"
#include "validation/vts/models.h"

namespace halyard::validation {

// The ways that a version has to execute a request by a call.
std::vector<Path> pathsOf(HalVersion method);

// Executes addModel(n) (or, with `open`, addModel(0) with n elements) of 1 and 2 in every way of
// the version, with times and without. OP_FAILED for anything that is not right.
Status runsAdd(HalClient& client, HalVersion method, const DriverObjectPtr& model, uint32_t n,
               bool open = false, Kind kind = kFloat);

// Executes a chainModel of `length` on ones, and says whether it is that chain.
Status runsChain(HalClient& client, HalVersion method, const DriverObjectPtr& model,
                 bool multiplies, unsigned length, Kind kind);

// The inputs of addModel(n) with values 1 and 2 (or `first` and `second`), and room for the sum.
Result<RequestMemory> addMemory(uint32_t n, Kind kind = kFloat, unsigned first = 1,
                                unsigned second = 2);
// OP_FAILED unless all n elements of output 0 are `value`.
Status expectFilled(const RequestMemory& memory, uint32_t n, unsigned value, Kind kind = kFloat);

// Runs `work` in threads and returns the first error.
Status inThreads(unsigned threads, const std::function<Status(unsigned thread)>& work);

}  // namespace halyard::validation

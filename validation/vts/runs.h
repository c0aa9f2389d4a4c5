// Executions of the built-in models, with checks of all their results.
// Thread safety: several threads may call the functions at once.
// Ownership: values.
#pragma once

#include <functional>

#include "validation/vts/hal_client.h"
#include "validation/vts/models.h"

namespace halyard::validation {

// The ways in which calls of a version execute a request.
std::vector<Path> pathsOf(HalVersion method);

// Executes addModel(n) (or, with `open`, addModel(0) with n elements) of 1 and 2 in every way of
// the version, with times and without. OP_FAILED for any wrong result.
Status runsAdd(HalClient& client, HalVersion method, const DriverObjectPtr& model, uint32_t n,
               bool open = false, Kind kind = kFloat);

// Executes a chainModel of `length` on ones, and checks whether the model is this chain.
Status runsChain(HalClient& client, HalVersion method, const DriverObjectPtr& model,
                 bool multiplies, unsigned length, Kind kind);

// The inputs of addModel(n) with values 1 and 2 (or `first` and `second`), and memory for the sum.
Result<RequestMemory> addMemory(uint32_t n, Kind kind = kFloat, unsigned first = 1,
                                unsigned second = 2);
// OP_FAILED unless all n elements of output 0 are `value`.
Status expectFilled(const RequestMemory& memory, uint32_t n, unsigned value, Kind kind = kFloat);

// Runs `work` in threads and returns the first error.
Status inThreads(unsigned threads, const std::function<Status(unsigned thread)>& work);

}  // namespace halyard::validation

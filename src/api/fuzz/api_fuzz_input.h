// Runs one input of the fuzzer of the C API: its bytes choose a sequence of calls.
// Thread safety: one thread at a time. Ownership: frees all objects that the sequence has made.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::api::fuzz {

struct Summary {
  int executed = 0;  // runs that have ended well
};

// Each call begins with a byte that chooses it (calls.h); then come its arguments, objects by their
// number among those of their kind. An application keeps to some rules that the API cannot check:
// objects live as long as the API says, buffers are as long as the application says, memory that an
// execution writes is not used otherwise meanwhile. All else is up to the bytes. Models whose
// executions might take long are compiled, and not run.
// Ends the process when the API breaks a promise: a code that is none, an error without a text,
// success without a result.
Summary runApiFuzzInput(std::span<const uint8_t> bytes);

}  // namespace halyard::api::fuzz

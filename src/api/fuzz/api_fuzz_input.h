// Runs one input of the fuzzer of the C API: its bytes choose a sequence of calls.
// Thread safety: one thread at a time.
// Ownership: frees all objects that the sequence has made.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::api::fuzz {

struct Summary {
  int executed = 0;  // runs that have succeeded
};

// Each call begins with a byte that chooses it (calls.h). Its arguments follow; objects are chosen
// by their number among those of their kind. The sequence keeps the rules that the API cannot
// check. Objects live as long as the API requires, and buffers have the declared sizes. Memory that
// an execution writes has no other use meanwhile. The bytes choose all other things. Models whose
// executions might take long are compiled, but not run. The process ends when the API breaks a
// promise: an unknown code, an error without a text, success without a result.
Summary runApiFuzzInput(std::span<const uint8_t> bytes);

}  // namespace halyard::api::fuzz

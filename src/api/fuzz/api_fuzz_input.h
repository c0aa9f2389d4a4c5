// Runs one input of the fuzzer of the C API. The bytes of the input choose a sequence of calls.
// Thread safety: one thread at a time. Ownership: frees all objects of the sequence.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::api::fuzz {

struct Summary {
  int executed = 0;  // successful runs
};

// Each call begins with two bytes that choose it (calls.h). Its arguments follow. An object is
// given by its number among the objects of its kind.
//
// The sequence follows the rules that the API cannot check. Objects exist as long as the API
// requires. Buffers have the length that the caller states. No other call uses memory that an
// execution writes. The bytes choose everything else. Models whose executions may take long are
// compiled but not run.
//
// Ends the process when the API breaks a rule: an unknown code, an error without a text, or a
// success without a result.
Summary runApiFuzzInput(std::span<const uint8_t> bytes);

}  // namespace halyard::api::fuzz

// Mutations of .tflite files that keep them .tflite files: for the fuzzer, which by bytes alone
// seldom gets past the checks of the container, and for tests. Thread safety: pure function.
// Ownership: results own their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace halyard::import {

// Changes bytes in place, for the content of buffers: libFuzzer's own mutator there.
using ByteMutator = std::function<void(std::span<uint8_t> bytes, uint32_t seed)>;

// One to four changes, by the seed, of shapes, types, quantisation, constants, operators, their
// tensors and options, and inputs and outputs; most leave one thing wrong in a model that is
// otherwise right. Empty when the bytes are no such file, or one whose numbers are not aligned.
std::vector<uint8_t> mutateModel(std::span<const uint8_t> file, uint32_t seed,
                                 const ByteMutator& mutateBytes);

}  // namespace halyard::import

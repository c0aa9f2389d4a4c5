// Mutates .tflite files so that they stay .tflite files. For tests, and for the fuzzer, whose
// random bytes seldom pass the checks of the container.
// Thread safety: pure function.
// Ownership: results own their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace halyard::import {

// Changes bytes in place, for the content of buffers: libFuzzer's own mutator in the fuzzer.
using ByteMutator = std::function<void(std::span<uint8_t> bytes, uint32_t seed)>;

// Makes one to four changes, selected by the seed. They affect shapes, types, quantisation,
// constants, operators with their tensors and options, inputs and outputs. Most leave one error in
// an otherwise correct model. Returns empty when the bytes are no such file, or when its numbers
// are not aligned.
std::vector<uint8_t> mutateModel(std::span<const uint8_t> file, uint32_t seed,
                                 const ByteMutator& mutateBytes);

}  // namespace halyard::import

// What the CPU driver saves of a compiled model, and gets back: the model without the constants
// that only packed kernels used, what these packed, and what tuning has chosen.
// Thread safety: pure functions. Ownership: results own their data or share what they were made
// from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compiled_model.h"
#include "halyard/driver/compile_cache.h"
#include "recorded_packing.h"

namespace halyard::cpudriver {

struct SavedCompilation {
  // As it was compiled; but released constants lie in a pool that stands for them, and is
  // not to be read.
  std::shared_ptr<const Model> model;
  std::vector<PackedPiece> pieces;
  std::vector<StepChoice> choices;  // by step; empty: it was not tuned
  hal::ExecutionPreference preference = hal::ExecutionPreference::FAST_SINGLE_ANSWER;
  hal::Priority priority = hal::Priority::MEDIUM;
};

// `compiled` is what `model` was compiled to with `recorder`. One file of each kind: what could
// decide where memory is used is in the model file, the data file has numbers to compute with.
// Errors as serializeModel.
Result<hal::CompileCache::Content> packCompilation(const Model& model,
                                                   const CompiledModel& compiled,
                                                   const PackingRecorder& recorder,
                                                   const hal::PrepareOptions& options);

// The same back. Any bytes may be given: OP_FAILED for what is not of packCompilation's making, as
// far as that can be seen: that pieces have the sizes that kernels want is for PackingReplay to
// find out, and that steps have the ways that were chosen for CompiledModel::choose. `owner` keeps
// the bytes of `data`, which are used where they are if they are aligned to kPackedAlignment, and
// copied otherwise.
Result<SavedCompilation> unpackCompilation(std::span<const uint8_t> model,
                                           std::span<const uint8_t> data,
                                           const std::shared_ptr<const void>& owner);

}  // namespace halyard::cpudriver

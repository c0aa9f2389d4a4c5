// What the reference driver saves of a compilation: the model and how far it was compiled.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <memory>

#include "halyard/driver/compile_cache.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/valid_model.h"

namespace halyard::drivers {

// QUICK: usable, the better code is still to come.
enum class Stage : uint8_t { QUICK, OPTIMISED };

struct SavedModel {
  ValidModel model;
  hal::ExecutionPreference preference = hal::ExecutionPreference::FAST_SINGLE_ANSWER;
  hal::Priority priority = hal::Priority::MEDIUM;
  Stage stage = Stage::OPTIMISED;
};

// Divided over as many files of each kind, of which one at least has to be there: what decides
// where memory is used goes to model files, as long as there are any. Errors as serializeModel.
Result<hal::CompileCache::Content> packModel(const SavedModel& saved, size_t modelFiles,
                                             size_t dataFiles);

// The same back. Any content may be given: OP_FAILED for what is not of packModel's making.
Result<SavedModel> unpackModel(const hal::CompileCache::Content& content);

}  // namespace halyard::drivers

// The part of a compilation that the reference driver saves: the model and how far it was compiled.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <memory>

#include "halyard/driver/compile_cache.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/valid_model.h"

namespace halyard::drivers {

// QUICK: usable, but better code is still to be made.
enum class Stage : uint8_t { QUICK, OPTIMISED };

struct SavedModel {
  ValidModel model;
  hal::ExecutionPreference preference = hal::ExecutionPreference::FAST_SINGLE_ANSWER;
  hal::Priority priority = hal::Priority::MEDIUM;
  Stage stage = Stage::OPTIMISED;
};

// Divides the model over the files of each kind: its structure over model files, its values over
// data files. If one kind has no files, the other gets both. BAD_DATA without any file; other
// errors as serializeModel.
Result<hal::CompileCache::Content> packModel(const SavedModel& saved, size_t modelFiles,
                                             size_t dataFiles);

// The reverse. Any content may be given: OP_FAILED for content that packModel has not made.
Result<SavedModel> unpackModel(const hal::CompileCache::Content& content);

}  // namespace halyard::drivers

// A compilation cache that is correct, except for one flaw.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include <memory>

#include "halyard/driver/device.h"

namespace halyard::defects {

// The precautions of a correct driver. Each can be left out.
struct CacheFlaws {
  bool checksToken = true;
  bool checksContent = true;      // with a digest
  bool checksLength = true;       // refuses bytes after the model
  bool rewinds = true;            // the offset of a file may have any value
  bool truncates = true;          // a file may have any content before
  bool toleratesBadFiles = true;  // also prepares the model when it cannot save it
  bool readsOnce = true;          // uses the bytes that it has checked
  bool loads = true;              // loads saved models
};

// Saves to model cache file 0. OP_FAILED when it cannot be saved.
Status saveNaively(const Model& model, const hal::CacheFiles& files, const CacheFlaws& flaws);
// The saved model, if the checks find no error; otherwise OP_FAILED.
Result<ValidModel> loadNaively(const hal::CacheFiles& files, const CacheFlaws& flaws);

}  // namespace halyard::defects

// A compilation cache that is right, but for one flaw.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <memory>

#include "halyard/driver/device.h"

namespace halyard::defects {

// What a careful driver does, each of which can be left out.
struct CacheFlaws {
  bool checksToken = true;
  bool checksContent = true;      // by a digest
  bool checksLength = true;       // what stands behind the model
  bool rewinds = true;            // files come with any offset
  bool truncates = true;          // and with any content
  bool toleratesBadFiles = true;  // prepares also when it cannot save
  bool readsOnce = true;          // uses what it has checked
  bool loads = true;              // anything at all
};

// Saves to model cache file 0. OP_FAILED when it cannot.
Status saveNaively(const Model& model, const hal::CacheFiles& files, const CacheFlaws& flaws);
// What was saved, if the checks find nothing; else OP_FAILED.
Result<ValidModel> loadNaively(const hal::CacheFiles& files, const CacheFlaws& flaws);

}  // namespace halyard::defects

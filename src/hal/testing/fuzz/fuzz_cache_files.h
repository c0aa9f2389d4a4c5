// FuzzCacheFiles: the cache files of a fuzzed session. They stay the same, so that saved models can
// be loaded. Sometimes their contents are changed.
// Thread safety: loop thread only. Ownership: owns the files.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include "base/testing/byte_source.h"
#include "hal/wire/wire_cache.h"

namespace halyard::hal::fuzz {

using halyard::fuzz::ByteSource;

class FuzzCacheFiles {
 public:
  // Puts as many files as TouchingDevice needs into the call.
  template <typename Call>
  void put(ByteSource& bytes, Call& call) {
    for (UniqueFd& file : files_) {
      if (!file.valid()) file.reset(::memfd_create("halyard fuzz cache", MFD_CLOEXEC));
      if (bytes.oneIn(6)) spoil(bytes, file);
    }
    CacheFiles files;
    files.token[0] = 1;
    files.modelCache.push_back(files_[0].duplicate());
    for (const size_t data : {1, 2}) files.dataCache.push_back(files_[data].duplicate());
    putCacheFiles(&files, call);
  }

 private:
  static void spoil(ByteSource& bytes, const UniqueFd& file) {
    const uint64_t garbage = bytes.number64();
    const auto offset = static_cast<off_t>(bytes.below(600));
    if (bytes.oneIn(3)) return (void)!::ftruncate(file.get(), offset);
    const size_t length = 1 + bytes.below(sizeof garbage);
    (void)!::pwrite(file.get(), &garbage, length, offset);
  }

  UniqueFd files_[3];  // one model file and two data files
};

}  // namespace halyard::hal::fuzz

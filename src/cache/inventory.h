// What lies in folders of caches: files of compilations, and of blobs; for people who look, verify
// and tidy up. Thread safety: pure functions. Ownership: plain data.
//
// Nothing here decides what a driver loads: it trusts its own store alone (compile_cache.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::cache {

enum class CacheState : uint8_t {
  UNCHECKED,
  OK,
  EMPTY,    // files of a compilation that nothing has been saved in
  FOREIGN,  // in a format of the driver's own: nothing can be said
  DAMAGED,
};
const char* nameOf(CacheState state);

struct CacheItem {
  enum class Kind : uint8_t { COMPILATION, BLOBS };

  Kind kind = Kind::COMPILATION;
  std::string name;                          // the token as in names of files; a blob file's path
  std::vector<std::filesystem::path> files;  // sorted
  uint64_t bytes = 0;
  int64_t lastUsed = 0;  // seconds since 1970: written or, as far as the file system notes it, read
  std::string driver;    // "" when it is not known
  size_t entries = 0;    // of blobs
  CacheState state = CacheState::UNCHECKED;
  std::string problem;  // of a damaged one
};

// In $XDG_CACHE_HOME/halyard or $HOME/.cache/halyard: where the command line has compilations kept.
Result<std::filesystem::path> defaultCompilationFolder();
// Of drivers, where BlobStore::defaultFile has them.
std::vector<std::filesystem::path> defaultBlobFiles();

// `path`: a folder, whose files are looked at but not its folders, or a file of blobs. Files that
// are neither are passed over. OP_FAILED when the path cannot be read, BAD_DATA for a file that has
// no blobs.
Result<std::vector<CacheItem>> listCaches(const std::filesystem::path& path);

// Reads all of it, and sets its state and problem.
void verify(CacheItem& item);

struct PruneLimits {
  std::optional<uint64_t> bytes;  // of all together; those used longest ago go
  std::optional<int64_t> maxAge;  // seconds since the last use; for blobs, since they were saved
  bool damaged = false;           // those that verify() has found damaged
};
// Takes from `items` what is to go, without removing anything. `now`: seconds since 1970.
std::vector<CacheItem> chooseForPruning(std::vector<CacheItem>& items, const PruneLimits& limits,
                                        int64_t now);
// Removes its files. OP_FAILED naming one that stayed.
Status removeFiles(const CacheItem& item);
// Removes blobs that were saved before `time`; the number of them. OP_FAILED as BlobStore::save().
Result<size_t> pruneBlobs(const std::filesystem::path& file, int64_t time);

}  // namespace halyard::cache

// Lists, verifies and prunes folders of caches: files of compilations and of blobs.
// Thread safety: pure functions.
// Ownership: plain data.
//
// These functions do not affect what a driver loads. A driver trusts only its own store
// (compile_cache.h).
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
  EMPTY,    // files of a compilation without saved content
  FOREIGN,  // in a driver's own format, which cannot be verified
  DAMAGED,
};
const char* nameOf(CacheState state);

struct CacheItem {
  enum class Kind : uint8_t { COMPILATION, BLOBS };

  Kind kind = Kind::COMPILATION;
  std::string name;                          // the token as in file names; a blob file's path
  std::vector<std::filesystem::path> files;  // sorted
  uint64_t bytes = 0;
  int64_t lastUsed = 0;  // seconds since 1970: last write, or a recorded later read
  std::string driver;    // "" when unknown
  size_t entries = 0;    // number of blobs
  CacheState state = CacheState::UNCHECKED;
  std::string problem;  // of a damaged item
};

// Returns $XDG_CACHE_HOME/halyard or $HOME/.cache/halyard, where the command line keeps
// compilations.
Result<std::filesystem::path> defaultCompilationFolder();
// Returns the blob files of drivers at the location of BlobStore::defaultFile.
std::vector<std::filesystem::path> defaultBlobFiles();

// `path`: a folder or a file of blobs. The files of a folder are listed, but not its subfolders.
// Other files are skipped. Returns OP_FAILED when the path is not readable, BAD_DATA for a file
// without blobs.
Result<std::vector<CacheItem>> listCaches(const std::filesystem::path& path);

// Reads the whole item, and sets its state and problem.
void verify(CacheItem& item);

struct PruneLimits {
  std::optional<uint64_t> bytes;  // limit for all items together; the least recently used go
  std::optional<int64_t> maxAge;  // seconds since the last use; for blobs, since their save
  bool damaged = false;           // also removes the items that verify() found damaged
};
// Moves the items to prune out of `items`. Does not remove files. `now`: seconds since 1970.
std::vector<CacheItem> chooseForPruning(std::vector<CacheItem>& items, const PruneLimits& limits,
                                        int64_t now);
// Removes the item's files. Returns OP_FAILED with the name of a file that stayed.
Status removeFiles(const CacheItem& item);
// Removes blobs saved before `time` and returns their number. OP_FAILED as in BlobStore::save().
Result<size_t> pruneBlobs(const std::filesystem::path& file, int64_t time);

}  // namespace halyard::cache

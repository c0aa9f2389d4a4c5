// The files that a compilation is cached in, in a folder of the application's.
// Thread safety: one object for one thread at a time; threads and processes that use the same files
// have objects of their own.
// Ownership: owns its descriptors; the files are the application's, and stay.
//
// All files of a compilation are a set, of which a name says the token, the kind and the number.
// Sets are replaced as a whole: what a driver writes has other names until it is prepared, and then
// takes the place of the old files. A lock for each set keeps two from replacing it at once, and
// readers from seeing half of each; whoever ends in between leaves a set that lacks its first file,
// which is none. Locks are never waited for without end. docs/caching.md has the details.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halyard/driver/hal_types.h"

namespace halyard::runtime {

// What is known of an earlier preparation from these files: kept with the files themselves, as an
// extended attribute. Unknown where there are none, and when the files have another size than they
// had then: what a driver has added since may be worth more than the time to load it.
struct CacheTimes {
  double coldNs = 0;    // the preparation that wrote them
  double warmNs = 0;    // the last one from them; 0: none yet
  uint32_t slower = 0;  // how many in a row have taken longer than the cold one
};

// The most that is waited for another process, or another thread, that replaces the files.
inline constexpr std::chrono::milliseconds kMostCacheWait{1000};

// Files that are all there, open for reading and writing.
struct OpenedCache {
  std::shared_ptr<const hal::CacheFiles> files;
  uint64_t bytes = 0;  // in all
  std::optional<CacheTimes> times;
};

// NNAPI's name of a file within its folder. `kind`: '1' for a model cache, '2' for a data cache.
std::string cacheFileName(const hal::Token& token, char kind, uint32_t index);

// Bytes in all the files; 0 for what cannot be asked.
uint64_t sizeOf(const hal::CacheFiles& files);
void setTimes(const hal::CacheFiles& files, const CacheTimes& times);
std::optional<CacheTimes> timesOf(const hal::CacheFiles& files);

class CacheSet {
 public:
  // `folder` as in ANeuralNetworksCompilation_setCaching; empty: the current folder. OP_FAILED when
  // there is none. `until`: no wait is longer.
  static Result<std::unique_ptr<CacheSet>> open(const std::string& folder, const hal::Token& token,
                                                uint32_t modelFiles, uint32_t dataFiles,
                                                std::optional<hal::TimePoint> until = std::nullopt);
  ~CacheSet();
  CacheSet(const CacheSet&) = delete;
  CacheSet& operator=(const CacheSet&) = delete;

  // The files as they are. nullopt when one is missing. OP_FAILED when one cannot be opened, is not
  // a regular file of the own user, or is replaced by somebody else for too long.
  Result<std::optional<OpenedCache>> openFiles();

  // Begins to replace the set: until publish() or the end of this object nobody else does. The
  // result has new, empty files, which nobody else opens. OP_FAILED when they cannot be made or
  // somebody else replaces the set for too long. The set may have changed since openFiles().
  Result<std::shared_ptr<const hal::CacheFiles>> replace();
  // Whether the set is not the one any more that openFiles() has opened, or found incomplete. Only
  // after replace().
  bool hasChanged() const;
  // The new files take the place of the old ones. Whoever writes to them later, through the same
  // descriptors, writes to the set.
  Status publish();
  // Gives up what replace() has begun.
  void abandon();

 private:
  CacheSet() = default;

  enum class Access : uint8_t { READ, WRITE };
  Status lock(Access access);
  void unlock();
  Result<std::optional<OpenedCache>> openLocked();
  // What tells a set from the one that takes its place.
  std::optional<uint64_t> firstInode() const;

  std::string folder_;  // for messages
  UniqueFd folderFd_;
  UniqueFd lockFd_;  // invalid in a folder where none can be made
  bool lockIsWritable_ = false;
  hal::Token token_ = {};
  uint32_t modelFiles_ = 0;
  std::vector<std::string> names_;
  std::optional<hal::TimePoint> until_;
  bool replacing_ = false;
  std::optional<uint64_t> seenInode_;
};

}  // namespace halyard::runtime

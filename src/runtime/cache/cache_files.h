// CacheSet: the files of one cached compilation, in a folder of the application.
// Thread safety: one thread at a time. Threads and processes that use the same files have objects
// of their own.
// Ownership: owns its descriptors. The files belong to the application and are not deleted.
//
// All files of a compilation form a set. The name of a file consists of the token, the kind and the
// index. A set is replaced as a whole. A driver writes to files with other names. After the
// preparation these files replace the old ones.
// Each set has a lock. Only one writer at a time replaces the set, and a reader never sees a mixed
// set. A process that ends during a replacement leaves a set without its first file. Such a set is
// incomplete and is ignored. All waits for locks have a time limit. docs/caching.md has the
// details.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halyard/driver/hal_types.h"

namespace halyard::runtime {

// The durations of earlier preparations with these files, in nanoseconds. An extended attribute of
// the first file holds them.
// They are unknown when there is no attribute or when the size of the files has changed since. A
// driver may then have added data that makes loading faster.
struct CacheTimes {
  double coldNs = 0;  // of the preparation that wrote the files
  double warmNs = 0;  // of the last preparation from the files; 0: none yet
  // Number of consecutive preparations from the files that were slower than the cold one.
  uint32_t slower = 0;
};

// The longest wait for another process or thread that replaces the files.
inline constexpr std::chrono::milliseconds kMostCacheWait{1000};

// A complete set of files, open for reading and writing.
struct OpenedCache {
  std::shared_ptr<const hal::CacheFiles> files;
  uint64_t bytes = 0;  // total size
  std::optional<CacheTimes> times;
};

// The name that NNAPI gives a file in its folder. `kind`: '1' for a model cache, '2' for a data
// cache.
std::string cacheFileName(const hal::Token& token, char kind, uint32_t index);

// The total size of the files in bytes. A file whose size is not available counts as 0.
uint64_t sizeOf(const hal::CacheFiles& files);
void setTimes(const hal::CacheFiles& files, const CacheTimes& times);
std::optional<CacheTimes> timesOf(const hal::CacheFiles& files);

class CacheSet {
 public:
  // `folder` is as in ANeuralNetworksCompilation_setCaching; empty: the current folder. OP_FAILED
  // when the folder cannot be opened. A wait ends at `until` at the latest.
  static Result<std::unique_ptr<CacheSet>> open(const std::string& folder, const hal::Token& token,
                                                uint32_t modelFiles, uint32_t dataFiles,
                                                std::optional<hal::TimePoint> until = std::nullopt);
  ~CacheSet();
  CacheSet(const CacheSet&) = delete;
  CacheSet& operator=(const CacheSet&) = delete;

  // Opens the current files. nullopt when a file is missing. OP_FAILED when a file cannot be opened
  // or is not a regular file of the effective user. OP_FAILED also when another thread or process
  // replaces the set for too long.
  Result<std::optional<OpenedCache>> openFiles();

  // Begins to replace the set. No other thread or process can do so until publish(), abandon() or
  // the destructor.
  // The result has new, empty files that no other caller opens. OP_FAILED when they cannot be made,
  // or when another thread or process replaces the set for too long. The set may have changed since
  // openFiles().
  Result<std::shared_ptr<const hal::CacheFiles>> replace();
  // Whether the set now is another one than openFiles() opened or found incomplete. False for a set
  // whose first file is missing. Call it only after replace().
  bool hasChanged() const;
  // Replaces the old files by the new ones. A later write through the descriptors of the new files
  // changes the set.
  Status publish();
  // Ends the replacement that replace() has begun, and keeps the old set.
  void abandon();

 private:
  CacheSet() = default;

  enum class Access : uint8_t { READ, WRITE };
  Status lock(Access access);
  void unlock();
  Result<std::optional<OpenedCache>> openLocked();
  // The inode of the first file. It identifies a version of the set.
  std::optional<uint64_t> firstInode() const;

  std::string folder_;  // for messages
  UniqueFd folderFd_;
  UniqueFd lockFd_;  // invalid in a folder without a lock file that this process can make or open
  bool lockIsWritable_ = false;
  hal::Token token_ = {};
  uint32_t modelFiles_ = 0;
  std::vector<std::string> names_;
  std::optional<hal::TimePoint> until_;
  bool replacing_ = false;
  std::optional<uint64_t> seenInode_;
};

}  // namespace halyard::runtime

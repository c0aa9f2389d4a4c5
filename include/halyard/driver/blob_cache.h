// BlobCache and BlobStore: caches of blobs by keys for drivers, apart from the compilations that
// the framework caches: compiled kernels, tuning results. BlobCache is memory; BlobStore keeps one
// in a file, for several processes.
//
// Thread safety: BlobCache none, BlobStore any thread and any number of processes.
//
// Ownership: keys and values are copied in and out. A BlobStore owns a thread while something waits
// to be saved.
//
//   BlobStore store;
//   store.open({.file = BlobStore::defaultFile("acme-npu").value(),
//               .limits = {1024, 1 << 20, 16 << 20},
//               .policy = {BlobCache::Select::LRU, BlobCache::Capacity::FIT},
//               .build = CompileCache::buildIdOfThisProgram()});
//   store.set(key, kernel);
//   std::optional<std::vector<uint8_t>> kernel = store.get(key);
//
// The file is the driver's own. A CRC-32C for each entry finds damage, which drops that entry. A
// process that can write the file can forge it. CompileCache protects against that.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/export.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

class HALYARD_EXPORT BlobCache {
 public:
  using Bytes = std::span<const uint8_t>;

  // In bytes; a key, a value and both together may be as large as said.
  struct Limits {
    size_t key = 0;
    size_t value = 0;
    size_t total = 0;  // of all keys and values
  };
  // The entry that is removed when there is no room: any, or the one used longest ago.
  enum class Select : uint8_t { RANDOM, LRU };
  // How far the cache is emptied then. To half of the limit, if it is more than half full; until
  // the new entry fits; or to the smaller of both.
  enum class Capacity : uint8_t { HALVE, FIT, FIT_HALVE };
  struct Policy {
    Select select = Select::RANDOM;
    Capacity capacity = Capacity::HALVE;
  };

  // Content that another `build` has flattened is refused.
  BlobCache(const Limits& limits, const Policy& policy, std::string build = {});
  // RANDOM and HALVE.
  explicit BlobCache(const Limits& limits);

  // Replaces the key's value. Ignored when key or value are empty or beyond a limit. Also ignored
  // when there is no room and the policy frees no entry. The key then keeps its value.
  void set(Bytes key, Bytes value);
  // The value's size, 0 without a value; copies it only if `buffer` is large enough.
  size_t get(Bytes key, std::span<uint8_t> buffer);
  // The same into memory from `allocate(size)`, which is returned in *value; null from it is
  // returned, and so is the size.
  size_t get(Bytes key, void** value, const std::function<void*(size_t)>& allocate);
  std::optional<std::vector<uint8_t>> get(Bytes key);
  void clear();

  size_t entries() const { return entries_.size(); }
  size_t totalBytes() const { return total_; }
  const Limits& limits() const { return limits_; }

  // The content as bytes, entries from the one used longest ago to the last. docs/cache_format.md.
  size_t flattenedSize() const;
  // BAD_DATA when `into` is smaller than flattenedSize().
  Status flatten(std::span<uint8_t> into) const;
  // Replaces the content by a flattened one. Entries beyond this cache's limits and damaged entries
  // are left out. OK and empty: of another version or build. BAD_DATA, and empty: no flattened
  // content, or one that has been cut off. The number of damaged entries.
  Result<size_t> unflatten(Bytes bytes);

 private:
  struct Entry {
    std::vector<uint8_t> value;
    uint64_t used = 0;
    int64_t savedAt = 0;  // seconds since 1970
  };
  struct Shorter {
    using is_transparent = void;
    bool operator()(Bytes a, Bytes b) const;
  };
  using Entries = std::map<std::vector<uint8_t>, Entry, Shorter>;
  friend class BlobStore;

  bool fits(Bytes key, Bytes value) const;
  void put(Bytes key, Bytes value, int64_t savedAt);
  bool cleanable() const;
  void clean(size_t newBytes, size_t oldBytes);
  Entries::iterator victim();
  std::vector<Entries::const_iterator> byUse() const;

  const Limits limits_;
  const Policy policy_;
  const std::string build_;
  Entries entries_;
  size_t total_ = 0;
  uint64_t uses_ = 0;
  std::minstd_rand random_{std::random_device{}()};
};

// A BlobCache with a file. It is made closed. While it is closed, get always misses, and set does
// nothing.
class HALYARD_EXPORT BlobStore {
 public:
  struct Settings {
    // In a folder of the driver's own, which is made, mode 0700, when it is not there. Empty:
    // memory only.
    std::filesystem::path file;
    BlobCache::Limits limits;
    BlobCache::Policy policy;
    std::string build;  // at most 1000 bytes; another one's file counts as empty
    // Changes are written this long after the first one, and when the store is closed.
    std::chrono::milliseconds saveAfter{4000};
    // The longest wait for another process that writes.
    std::chrono::milliseconds wait{2000};
  };

  BlobStore();
  ~BlobStore();  // close()
  BlobStore(const BlobStore&) = delete;
  BlobStore& operator=(const BlobStore&) = delete;

  // Reads the file. A file that is damaged, foreign, or larger than the limits allow is replaced at
  // the next save, with a warning. BAD_STATE when it is open; OP_FAILED, and open without a file,
  // when the folder cannot be made or is another user's.
  Status open(Settings settings);
  // Writes pending changes, and forgets everything. Errors are warnings.
  void close();

  // As BlobCache's. Entries that other processes have saved are found as well.
  void set(BlobCache::Bytes key, BlobCache::Bytes value);
  size_t get(BlobCache::Bytes key, std::span<uint8_t> buffer);
  size_t get(BlobCache::Bytes key, void** value, const std::function<void*(size_t)>& allocate);
  std::optional<std::vector<uint8_t>> get(BlobCache::Bytes key);

  // Writes pending changes, together with entries that other processes have saved meanwhile. A new
  // file replaces the old one, so that a process that dies leaves one or the other. OP_FAILED: the
  // disk is full, another process writes for longer than Settings::wait.
  Status save();

  size_t entries() const;

  // The driver's name and "blobs" in the folder blob_cache beside CompileCache::defaultFolder's.
  static Result<std::filesystem::path> defaultFile(const std::string& driver);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace halyard::hal

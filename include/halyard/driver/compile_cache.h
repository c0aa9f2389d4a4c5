// CompileCache: lets a driver save compilations in files that others can change. A load returns
// exactly the saved compilation, or fails.
//
// Thread safety: any thread, any number of processes; calls for different files run at the same
// time.
//
// Ownership: owns its connection to the store; files and contents are the caller's.
//
// An application keeps the files, so the driver does not trust them. It trusts its store: a SQLite
// database in a folder of its own, mode 0600. The store keeps a SHA-256 of the latest compilation
// of each (user, token, driver). load() reads each file once into private memory, and compares
// digests before it interprets a byte. save() computes digests from the caller's memory, never from
// the files. docs/cache_format.md has the formats. docs/caching.md describes the protection and its
// limits.
//
//   // While the device is made, so that the sandbox leaves the store's folder writable:
//   auto cache = CompileCache::open({"acme-npu", CompileCache::buildIdOfThisProgram() +
//                                                    CompileCache::cpuFeatures()});
//   // If the cache cannot be opened, the driver reports it and works without a cache. ... Status
//   saved = (*cache)->save(*options.cache, {{code}, {weights}}, clientUid);
//   Result<CompileCache::Content> content = (*cache)->load(*options.cache, clientUid);
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/export.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

struct CompileCacheLimits {
  // The most compilations of the store; those used longest ago are removed first.
  size_t entriesOfUser = 1024;
  size_t entries = 16384;
  // The most bytes of all files of a compilation together; a larger one is not saved.
  uint64_t bytes = uint64_t{4} << 30;
  // The longest wait of a call for other processes, once for the files and once for the store.
  std::chrono::milliseconds wait{2000};
  // The most time of a call for files of a client whose file system may not answer, such as FUSE.
  std::chrono::milliseconds foreignFiles{10000};
};

class HALYARD_EXPORT CompileCache {
 public:
  // A compilation of one identity is a miss for every other.
  struct Identity {
    // The device's name; 1 to 200 bytes without control characters.
    std::string driver;
    // Changes with everything that changes the saved data or its meaning: the driver's build,
    // features of the CPU, firmware. Any text. An open() with another build than the last removes
    // all of the driver's compilations from the store.
    std::string build;
  };
  // One entry for each file; an entry may be empty.
  struct Content {
    std::vector<std::vector<uint8_t>> model;  // could do harm: code
    std::vector<std::vector<uint8_t>> data;   // constants
  };

  // The content of a file in memory of its own, aligned to 64 bytes and with 64 zeros behind it.
  struct LoadedFile {
    std::shared_ptr<const uint8_t> memory;
    size_t size = 0;

    std::span<const uint8_t> bytes() const { return {memory.get(), size}; }
  };
  struct Loaded {
    std::vector<LoadedFile> model;
    std::vector<LoadedFile> data;
  };

  // `folder`: the store's own folder; made with its parents, mode 0700, if it is missing. Empty:
  // defaultFolder(). OP_FAILED with the reason if a store is impossible: no home, an unwritable
  // folder or one of another user, a full disk. A damaged store is replaced by an empty one, with a
  // warning on standard error.
  static Result<std::shared_ptr<CompileCache>> open(Identity identity,
                                                    const std::filesystem::path& folder = {},
                                                    const CompileCacheLimits& limits = {});
  // The same for a driver with few clients that use caching. The first call that needs the database
  // connects to it, which takes about 1 MB. This function reports errors of the folder, and that
  // call reports errors of the database. Another build removes the compilations at that call.
  static Result<std::shared_ptr<CompileCache>> openAtFirstUse(
      Identity identity, const std::filesystem::path& folder = {},
      const CompileCacheLimits& limits = {});
  ~CompileCache();
  CompileCache(const CompileCache&) = delete;
  CompileCache& operator=(const CompileCache&) = delete;

  // Overwrites the files, at any offset of their descriptors, and records their new content. Of
  // several concurrent saves under a token, only one is recorded.
  //
  // BAD_DATA: `content` has not exactly an entry for each file, or is too large. Also if a
  // descriptor is not of a regular file that is open for reading and writing. OP_FAILED: the disk
  // is full, another process holds a lock for longer than limits.wait, the store cannot be written.
  // RESOURCE_EXHAUSTED_TRANSIENT: the files have not answered within limits.foreignFiles.
  // After an error load() fails, and the files are empty if possible. A process may be killed at
  // any point: load() then gives the previous or the new content, or fails.
  //
  // The files are locked with flock() meanwhile: exclusively here, shared in load(). Such a lock
  // belongs to the open file description, with all duplicates of the descriptor. So the application
  // must hold no lock of this kind on them. Compilations that share files should open them
  // separately.
  //
  // `clientUid`: the user of the files, as the kernel reports it.
  Status save(const CacheFiles& files, const Content& content, uint32_t clientUid);

  // The last save under this token, for this user, by this identity. OP_FAILED, with the
  // difference, when the files are not exactly that; also when a lock is held for longer than
  // limits.wait. BAD_DATA and RESOURCE_EXHAUSTED_TRANSIENT as above. Never blocks on a file that is
  // not regular, and reads at most the saved number of bytes.
  Result<Content> load(const CacheFiles& files, uint32_t clientUid);

  // The same, for content that the driver uses in place: it has been copied once, from the files.
  Result<Loaded> loadInPlace(const CacheFiles& files, uint32_t clientUid);

  // Makes load() fail until the next save(). OK without an earlier save. OP_FAILED when the store
  // cannot be written.
  Status forget(const Token& token, uint32_t clientUid);

  const std::filesystem::path& folder() const;

  // In this order, by the environment: $STATE_DIRECTORY (a systemd service's, the first of them),
  // $XDG_STATE_HOME/halyard, $HOME/.local/state/halyard; with "compile_cache/" and the driver's
  // name behind it. OP_FAILED if no path is absolute. A process with elevated privileges ignores
  // environment variables.
  static Result<std::filesystem::path> defaultFolder(const std::string& driver);

  // The linker's build ids of the executable and of the library of this function. A file without an
  // id counts with its SHA-256.
  static std::string buildIdOfThisProgram();
  // The same for the executable or library that has `address`: for drivers that are libraries.
  static std::string buildIdOf(const void* address);
  // The abilities of the processor, as text for comparison only: another processor can run other
  // code.
  static std::string cpuFeatures();

 private:
  class Store;
  enum class Connect { NOW, AT_FIRST_USE };
  static Result<std::shared_ptr<CompileCache>> make(Identity identity,
                                                    const std::filesystem::path& folder,
                                                    const CompileCacheLimits& limits,
                                                    Connect connect);
  CompileCache(Identity identity, const CompileCacheLimits& limits, std::unique_ptr<Store> store);

  const Identity identity_;
  const CompileCacheLimits limits_;
  const std::unique_ptr<Store> store_;
};

}  // namespace halyard::hal

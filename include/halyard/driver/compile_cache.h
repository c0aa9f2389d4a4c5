// CompileCache: lets a driver save compilations in files that others can change, and get back
// exactly what it saved or nothing.
//
// Thread safety: any thread, any number of processes; calls for different files run at the same
// time.
//
// Ownership: owns its connection to the store; files and contents are the caller's.
//
// An application keeps the files, so nothing in them is trusted. What the driver trusts is its
// store: a SQLite database in a folder of its own, mode 0600, with a SHA-256 of what was saved
// last for each (user, token, driver). load() reads each file once into private memory, and
// compares digests before a byte of it is looked at; save() computes them from the caller's memory,
// never from the files. docs/cache_format.md has the formats, docs/caching.md what this protects
// from and what it cannot.
//
//   // While the device is made, so that the sandbox leaves the store's folder writable:
//   auto cache = CompileCache::open({"acme-npu", CompileCache::buildIdOfThisProgram() +
//                                                    CompileCache::cpuFeatures()});
//   // A driver whose cache cannot be opened says so and works without.
//   ...
//   Status saved = (*cache)->save(*options.cache, {{code}, {weights}}, clientUid);
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
  // Compilations that the store remembers; those used longest ago are forgotten first.
  size_t entriesOfUser = 1024;
  size_t entries = 16384;
  // Bytes of all files of a compilation together; more is not saved.
  uint64_t bytes = uint64_t{4} << 30;
  // For how long a call waits for other processes, once for the files and once for the store.
  std::chrono::milliseconds wait{2000};
};

class HALYARD_EXPORT CompileCache {
 public:
  // What is saved by one identity is a miss for every other.
  struct Identity {
    // The device's name; 1 to 200 bytes without control characters.
    std::string driver;
    // Changes with whatever changes what is saved or what it means: the driver's build, features of
    // the CPU, firmware. Any text. An open() with another build than the last makes the store
    // forget all that the driver saved.
    std::string build;
  };
  // One entry for each file; an entry may be empty.
  struct Content {
    std::vector<std::vector<uint8_t>> model;  // what could do harm: code
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

  // `folder`: where the store is, and nothing else; made with its parents, mode 0700, when it is
  // not there. Empty: defaultFolder(). OP_FAILED with the reason when there can be no store: no
  // home, a folder that cannot be written or belongs to another user, a full disk. A store that is
  // damaged or not a store is replaced by an empty one, with a warning on standard error.
  static Result<std::shared_ptr<CompileCache>> open(Identity identity,
                                                    const std::filesystem::path& folder = {},
                                                    const CompileCacheLimits& limits = {});
  // The same for a driver that most of its clients ask for no caching: the database, which takes
  // about 1 MB, is connected to by the first call that needs it. Errors of the folder are this
  // function's, those of the database that call's; another build makes the store forget then.
  static Result<std::shared_ptr<CompileCache>> openAtFirstUse(
      Identity identity, const std::filesystem::path& folder = {},
      const CompileCacheLimits& limits = {});
  ~CompileCache();
  CompileCache(const CompileCache&) = delete;
  CompileCache& operator=(const CompileCache&) = delete;

  // Writes the files, whatever they contain and wherever their offset is, and records what they are
  // now. Only one of several that save under a token at once is recorded.
  //
  // BAD_DATA: `content` has not exactly an entry for each file, is too large, or a descriptor is
  // not of a regular file that is open for reading and writing. OP_FAILED: the disk is full,
  // another process holds a lock for longer than limits.wait, the store cannot be written. After an
  // error load() fails, and nothing is left in the files where that can be. A process may be killed
  // at any point: load() then gives what was saved before or what was being saved, or fails.
  //
  // The files are locked with flock() meanwhile: exclusively here, shared in load(). Such a lock
  // belongs to what open() made, with all duplicates of the descriptor: whoever hands the files
  // over must hold no lock of this kind on them, and compilations that share files should have
  // opened them separately.
  //
  // `clientUid`: the user that the files are saved for, by the kernel's word.
  Status save(const CacheFiles& files, const Content& content, uint32_t clientUid);

  // What was saved last under this token, for this user, by this identity. OP_FAILED, saying what
  // differs, when the files are not exactly that; also when a lock is held for longer than
  // limits.wait. BAD_DATA for descriptors as above. Never blocks on a file that is not regular, and
  // reads no more than was saved.
  Result<Content> load(const CacheFiles& files, uint32_t clientUid);

  // The same, for what is used where it lies: it has been copied once, from the files.
  Result<Loaded> loadInPlace(const CacheFiles& files, uint32_t clientUid);

  // About how long a start from files with `bytes` bytes of content will take the driver and, for
  // the key, the runtime: by what digests took on this machine when the first caller asked. What
  // was compiled in not much more is not worth being saved.
  static std::chrono::nanoseconds expectedLoad(uint64_t bytes);

  // Makes load() fail until the next save(). OK when nothing was saved. OP_FAILED when the store
  // cannot be written.
  Status forget(const Token& token, uint32_t clientUid);

  const std::filesystem::path& folder() const;

  // In this order, by the environment: $STATE_DIRECTORY (a systemd service's, the first of them),
  // $XDG_STATE_HOME/halyard, $HOME/.local/state/halyard; with "compile_cache/" and the driver's
  // name behind it. OP_FAILED when none is an absolute path. Environment variables count for
  // nothing in a process with elevated privileges.
  static Result<std::filesystem::path> defaultFolder(const std::string& driver);

  // The linker's build ids of the executable and of the library that this function is in. What has
  // none counts with the SHA-256 of its file.
  static std::string buildIdOfThisProgram();
  // The same for the executable or library that has `address`: for drivers that are libraries.
  static std::string buildIdOf(const void* address);
  // What the processor can do, as text without meaning: another one can run other code.
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

// Reads and writes files that other processes may change, truncate or lock meanwhile.
// Thread safety: pure functions on descriptors; a FileLock as its descriptor.
// Ownership: descriptors are borrowed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>

#include "halyard/driver/status.h"

namespace halyard::cache {

enum class Access : uint8_t { READ, READ_WRITE };

// A file of another process's file system may never answer (base/foreign_fd.h). All functions then
// return RESOURCE_EXHAUSTED_TRANSIENT at `until`. It does not limit other files.
using FileDeadline = std::chrono::steady_clock::time_point;

struct FileIdentity {
  dev_t device;
  ino_t number;
  uint64_t size;  // bytes
};
// BAD_DATA unless `fd` is a regular file and open for `access`.
Result<FileIdentity> checkFile(int fd, Access access, FileDeadline until = FileDeadline::max());

// Reads exactly `into.size()` bytes from `offset` on. The descriptor's own offset stays. Returns
// OP_FAILED when the file ends too early.
Status readAt(int fd, uint64_t offset, std::span<uint8_t> into,
              FileDeadline until = FileDeadline::max());
// Writes in the same way. Returns OP_FAILED for a full disk, or beyond a limit on file sizes, whose
// signal does not arrive.
Status writeAt(int fd, uint64_t offset, std::span<const uint8_t> bytes,
               FileDeadline until = FileDeadline::max());
// Makes the file empty.
Status truncate(int fd, FileDeadline until = FileDeadline::max());

// Holds the flock() of an open file until its destruction.
class FileLock {
 public:
  // Returns OP_FAILED when others hold the lock for longer than `wait`.
  static Result<FileLock> take(int fd, bool exclusive, std::chrono::milliseconds wait,
                               FileDeadline until = FileDeadline::max());
  FileLock(FileLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace halyard::cache

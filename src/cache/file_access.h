// Reads and writes files that other processes may change, truncate or lock meanwhile.
// Thread safety: pure functions on descriptors; a FileLock as its descriptor.
// Ownership: descriptors are borrowed.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>

#include "halyard/driver/status.h"

namespace halyard::cache {

enum class Access : uint8_t { READ, READ_WRITE };

// Returns the file's size in bytes. BAD_DATA unless `fd` is a regular file and open for `access`.
Result<uint64_t> checkFile(int fd, Access access);

// Reads exactly `into.size()` bytes from `offset` on. The descriptor's own offset stays. Returns
// OP_FAILED when the file ends too early.
Status readAt(int fd, uint64_t offset, std::span<uint8_t> into);
// Writes in the same way. Returns OP_FAILED for a full disk, or beyond a limit on file sizes, whose
// signal does not arrive.
Status writeAt(int fd, uint64_t offset, std::span<const uint8_t> bytes);

// Holds the flock() of an open file until its destruction.
class FileLock {
 public:
  // Returns OP_FAILED when others hold the lock for longer than `wait`.
  static Result<FileLock> take(int fd, bool exclusive, std::chrono::milliseconds wait);
  FileLock(FileLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace halyard::cache

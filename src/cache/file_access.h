// Reading and writing files that others may change, truncate or lock meanwhile.
// Thread safety: pure functions on descriptors; FileLock as its descriptor.
// Ownership: descriptors are borrowed.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>

#include "halyard/driver/status.h"

namespace halyard::cache {

enum class Access : uint8_t { READ, READ_WRITE };

// BAD_DATA unless `fd` is of a regular file and open for `access`. Its size in bytes.
Result<uint64_t> checkFile(int fd, Access access);

// Exactly `into.size()` bytes from `offset` on, which do not move the descriptor's own offset.
// OP_FAILED when the file ends before.
Status readAt(int fd, uint64_t offset, std::span<uint8_t> into);
// The same for writing; OP_FAILED for a full disk, a limit on sizes of files, whose signal does not
// arrive.
Status writeAt(int fd, uint64_t offset, std::span<const uint8_t> bytes);

// A flock() of an open file, until its end.
class FileLock {
 public:
  // OP_FAILED when others hold the lock for longer than `wait`.
  static Result<FileLock> take(int fd, bool exclusive, std::chrono::milliseconds wait);
  FileLock(FileLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace halyard::cache

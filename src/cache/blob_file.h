// The file of a BlobStore, as a whole.
// Thread safety: pure functions; what they do to the file is seen by others as one step.
// Ownership: none.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::cache {

// Tells one state of a file from another, without reading it.
struct FileStamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec changed = {};

  bool operator==(const FileStamp& other) const {
    return device == other.device && inode == other.inode && size == other.size &&
           changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
  }
};

// All zeros when there is none.
FileStamp stampOf(const std::filesystem::path& file);

// Empty when there is none. BAD_DATA: it is not a regular file of this user's that only this user
// can write, or has more than `mostBytes`.
Result<std::vector<uint8_t>> readOwnFile(const std::filesystem::path& file, uint64_t mostBytes);

// Puts a file with these bytes, mode 0600, in its place. One process at a time: the caller has the
// lock. OP_FAILED: the disk is full, or the folder cannot be written.
Status replaceFile(const std::filesystem::path& file, std::span<const uint8_t> bytes);

}  // namespace halyard::cache

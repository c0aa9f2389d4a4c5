// Reads and writes the file of a BlobStore as a whole.
// Thread safety: pure functions; other processes see each change of the file as one step.
// Ownership: none.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::cache {

// Identifies a state of a file without reading it.
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

// Returns all zeros when there is no file.
FileStamp stampOf(const std::filesystem::path& file);

// Returns the file's bytes, empty when there is no file. Returns BAD_DATA unless the file is a
// regular file of this user that only this user can write, and has at most `mostBytes`.
Result<std::vector<uint8_t>> readOwnFile(const std::filesystem::path& file, uint64_t mostBytes);

// Replaces the file by one with these bytes and mode 0600. The caller holds the lock, so that one
// process at a time does this. Returns OP_FAILED when the disk is full or the folder is not
// writable.
Status replaceFile(const std::filesystem::path& file, std::span<const uint8_t> bytes);

}  // namespace halyard::cache

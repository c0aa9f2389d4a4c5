// ModelFile: a .tflite file, of which only what describes the model has been read: the large
// constants stay in the file.
// Thread safety: immutable; may be read from several threads. Ownership: owns the file's descriptor
// and the memory of what has been read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"

namespace halyard::import {

class ModelFile {
 public:
  // Constants from here on stay in the file.
  static constexpr size_t kLeastLeft = size_t{4} << 10;
  // A file up to here is read as a whole: that takes less than looking for what to leave.
  static constexpr size_t kMostWhole = size_t{160} << 10;

  // BAD_DATA when it cannot be opened or read, is no regular file, or larger than 2 GiB.
  static Result<ModelFile> open(const std::string& path);
  ModelFile(ModelFile&&) = default;
  ModelFile& operator=(ModelFile&&) = default;

  // Private memory as long as the file. What of the file is not there is zeros: contents of large
  // constants, as far as the file's own tables of buffers can be followed. All of a file that is
  // no .tflite file is there.
  std::span<const uint8_t> bytes() const { return {memory_.data(), memory_.size()}; }
  // Where in the file a part of bytes() is; nullopt for other memory.
  std::optional<size_t> offsetOf(std::span<const uint8_t> part) const;
  // Whether all of a part of bytes() is there.
  bool isThere(std::span<const uint8_t> part) const;
  // Reads a part of bytes() from the file. BAD_DATA when the file has become too short.
  Result<std::vector<uint8_t>> read(std::span<const uint8_t> part) const;
  // The file as a pool of constants.
  const SharedMemoryPtr& pool() const { return pool_; }

 private:
  struct Range {
    size_t begin = 0;
    size_t end = 0;
  };

  ModelFile() = default;
  Status readInto(const Range& range);
  std::vector<Range> largeConstants() const;

  SharedMemoryPtr pool_;
  Mapping memory_;
  std::vector<Range> left_;  // in the file alone; in order, apart from each other
};

}  // namespace halyard::import

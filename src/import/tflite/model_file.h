// ModelFile: a .tflite file, of which only what describes the model has been read: the large
// constants stay in the file.
// Thread safety: immutable; may be read from several threads. Ownership: owns the file's descriptor
// and the memory of what has been read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"

namespace halyard::import {

class ModelFile {
 public:
  // Constants from here on stay in the file, but for what of them shares a page with other things.
  static constexpr size_t kLeastLeft = size_t{16} << 10;
  // A file up to here is read as a whole: that takes less than looking for what to leave. Below
  // malloc's bound for what it maps anew, so that no pages are made for it.
  static constexpr size_t kMostWhole = size_t{126} << 10;

  // BAD_DATA when it cannot be opened or read, is no regular file, or larger than 2 GiB.
  static Result<ModelFile> open(const std::string& path);
  ModelFile(ModelFile&&) = default;
  ModelFile& operator=(ModelFile&&) = default;

  // Private memory as long as the file. What of the file is not there is zeros: pages within large
  // constants, as far as the file's own tables of buffers can be followed. All of a file that is
  // no .tflite file is there.
  std::span<const uint8_t> bytes() const { return bytes_; }
  // Where in the file a part of bytes() is; nullopt for other memory.
  std::optional<size_t> offsetOf(std::span<const uint8_t> part) const;
  // Whether all of a part of bytes() is there.
  bool isThere(std::span<const uint8_t> part) const;
  // Reads a part of bytes() from the file. BAD_DATA when the file has become too short.
  Result<std::vector<uint8_t>> read(std::span<const uint8_t> part) const;
  // The file as a pool of constants.
  const SharedMemoryPtr& pool() const { return pool_; }

 private:
  ModelFile() = default;
  Status readWhole();
  Status readAllButLargeConstants();

  SharedMemoryPtr pool_;
  std::unique_ptr<uint8_t[]> whole_;  // a small file, or
  Mapping sparse_;                    // memory of which only the pages that are there are used
  std::span<uint8_t> bytes_;          // the one or the other
  std::vector<bool> isPageThere_;     // of sparse_
};

}  // namespace halyard::import

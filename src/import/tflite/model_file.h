// ModelFile: the bytes of a .tflite file, of which those are read that somebody asks for: what
// describes the model. The large constants stay in the file.
// Thread safety: none; one import uses one file in one thread. Ownership: owns the file's
// descriptor and the memory of what has been read; borrows bytes in memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"

namespace halyard::import {

class ModelFile {
 public:
  // A file up to here is read as a whole: that takes less than looking for what to leave. Below
  // malloc's bound for what it maps anew, so that no pages are made for it.
  static constexpr size_t kMostWhole = size_t{126} << 10;

  // BAD_DATA when it cannot be opened or read, is no regular file, or larger than 2 GiB.
  static Result<ModelFile> open(const std::string& path);
  // Bytes in memory, which must stay. A copy where they are not aligned as in a file.
  static ModelFile ofMemory(std::span<const uint8_t> bytes);
  ModelFile(ModelFile&&) = default;
  ModelFile& operator=(ModelFile&&) = default;

  size_t size() const { return size_; }
  // A part of the file in memory, where it stays as long as the file; aligned to 8 bytes if
  // `offset` is. nullptr when it is not all in the file, or cannot be read: see whyNot(). What has
  // been read once may be read again from a file that has changed.
  const uint8_t* at(uint64_t offset, uint64_t length) {
    if (offset > size_ || length > size_ - offset) return nullptr;
    const Piece& last = pieces_[last_];
    if (last.contains(offset, length)) return last.data + (offset - last.begin);
    const uint8_t* const found = find(offset, length);
    return found != nullptr ? found : load(offset, length);
  }
  // As at(), for a few bytes that nobody needs any more after the next call of this kind.
  const uint8_t* passing(uint64_t offset, uint64_t length);
  // Why at() gave nullptr.
  Status whyNot() const;
  // Of what has been read so far.
  size_t bytesInMemory() const { return read_; }
  // The file as a pool of constants; null for bytes in memory.
  const SharedMemoryPtr& pool() const { return pool_; }

 private:
  struct Piece {
    uint64_t begin = 0;
    uint64_t end = 0;
    const uint8_t* data = nullptr;

    bool contains(uint64_t offset, uint64_t length) const {
      return offset >= begin && offset + length <= end;
    }
  };

  ModelFile() : pieces_(1) {}
  // In a piece that there is; otherwise nullptr.
  const uint8_t* find(uint64_t offset, uint64_t length);
  const uint8_t* load(uint64_t offset, uint64_t length);
  Piece readPiece(uint64_t begin, uint64_t end);

  SharedMemoryPtr pool_;
  size_t size_ = 0;
  size_t read_ = 0;
  // Apart from each other and in order; the first is empty, or all of the file.
  std::vector<Piece> pieces_;
  size_t last_ = 0;            // of pieces_
  std::vector<Piece> across_;  // what lies in more than one of those
  std::vector<std::unique_ptr<uint64_t[]>> memory_;
  // What passing() has read last, each at its place by the block's number.
  std::array<Piece, 8> windows_;
  std::unique_ptr<uint8_t[]> passing_;
  Status readError_;
};

}  // namespace halyard::import

// ModelFile: the bytes of a .tflite file. Only requested parts are read, which describe the model.
// The large constants stay in the file.
// Thread safety: none; one import uses one file in one thread.
// Ownership: owns the file's descriptor and the memory of the parts read; borrows bytes in memory.
#pragma once

#include <array>
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
  // A file up to this size is read as a whole, because that is faster than a selection. The limit
  // is below malloc's threshold for new mappings, so that no new pages are needed.
  static constexpr size_t kMostWhole = size_t{126} << 10;

  // Returns BAD_DATA when the file cannot be opened or read, is no regular file, or is larger than
  // 2 GiB.
  static Result<ModelFile> open(const std::string& path);
  // Uses bytes in memory, which must outlive the object. Makes a copy if they are not aligned as in
  // a file.
  static ModelFile ofMemory(std::span<const uint8_t> bytes);
  // A part of a file that lies in memory. Its address is aligned to 8 bytes if its offset is.
  struct Part {
    uint64_t offset = 0;
    std::span<const uint8_t> bytes;
  };
  // Uses a file of which only these parts exist, for example a FlatBuffer and the constants that it
  // refers to. The parts are in order, the first begins at 0, and all must outlive the object.
  // `pool`, if any, contains the file from `poolBegin` on, where one of the parts is.
  static ModelFile ofParts(std::span<const Part> parts, SharedMemoryPtr pool = nullptr,
                           uint64_t poolBegin = 0);
  ModelFile(ModelFile&&) = default;
  ModelFile& operator=(ModelFile&&) = default;

  uint64_t size() const { return size_; }
  // Returns a part of the file in memory, valid as long as the object, and aligned to 8 bytes if
  // `offset` is. Returns nullptr when the part exceeds the file, or is not readable: see whyNot().
  // A file that changes may give other bytes at a second read.
  const uint8_t* at(uint64_t offset, uint64_t length) {
    if (offset > size_ || length > size_ - offset) return nullptr;
    const Piece& last = pieces_[last_];
    if (last.contains(offset, length)) return last.data + (offset - last.begin);
    const uint8_t* const found = find(offset, length);
    return found != nullptr ? found : load(offset, length);
  }
  // As at(), for a few bytes that are valid only until the next call of this function.
  const uint8_t* passing(uint64_t offset, uint64_t length);
  // Returns the reason why at() returned nullptr.
  Status whyNot() const;
  // Returns the number of bytes read so far.
  size_t bytesInMemory() const { return read_; }
  // Returns the file as a pool of constants; null for bytes in memory.
  const SharedMemoryPtr& pool() const { return pool_; }
  // Returns where a range of the file is in the pool; nullopt if it is not there.
  std::optional<uint32_t> placeInPool(uint64_t offset, uint64_t length) const;

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
  // Searches the existing pieces; nullptr if not found.
  const uint8_t* find(uint64_t offset, uint64_t length);
  const uint8_t* load(uint64_t offset, uint64_t length);
  Piece readPiece(uint64_t begin, uint64_t end);

  SharedMemoryPtr pool_;
  uint64_t poolBegin_ = 0;
  bool isWhole_ = false;  // all that can be read is in pieces_
  uint64_t size_ = 0;
  size_t read_ = 0;
  // Disjoint and in order. The first is empty, or begins the file.
  std::vector<Piece> pieces_;
  size_t last_ = 0;            // index in pieces_
  std::vector<Piece> across_;  // ranges that span several pieces
  std::vector<std::unique_ptr<uint64_t[]>> memory_;
  // The last windows of passing(), each at the index of its block's number.
  std::array<Piece, 8> windows_;
  std::unique_ptr<uint8_t[]> passing_;
  Status readError_;
};

}  // namespace halyard::import

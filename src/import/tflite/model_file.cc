// Reads a file in pieces. A piece is whole blocks around the requested range, up to the existing
// pieces. Writers put related data side by side, mostly backwards.
#include "import/tflite/model_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/read_range.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::import {
namespace {

// A larger file is no model. A FlatBuffer cannot address more.
constexpr int64_t kMaxFileSize = int64_t{1} << 31;
constexpr uint64_t kAlignment = 16;
constexpr uint64_t kPiece = uint64_t{8} << 10;
// Most bytes around such data belong to constants, which are not needed.
constexpr uint64_t kPassing = uint64_t{2} << 10;
// A reader that exceeds the file's size by this amount uses a pattern that pieces do not suit.
constexpr size_t kMostBeyond = size_t{1} << 20;

Result<UniqueFd> openFile(const std::string& path, size_t* size) {
  // Without O_NONBLOCK, opening a FIFO would wait for a writer.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return errnoStatus(ResultCode::BAD_DATA, errno, "cannot be opened");
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) {
    return errnoStatus(ResultCode::BAD_DATA, errno, "cannot be examined");
  }
  if (!S_ISREG(info.st_mode)) return badData("is not a regular file");
  if (info.st_size > kMaxFileSize) {
    return badData("has {} bytes, at most {} are supported", info.st_size, kMaxFileSize);
  }
  *size = static_cast<size_t>(info.st_size);
  return fd;
}

}  // namespace

Result<ModelFile> ModelFile::open(const std::string& path) {
  size_t size = 0;
  HALYARD_ASSIGN_OR_RETURN(UniqueFd fd, openFile(path, &size));
  ModelFile file;
  file.pool_ = SharedMemory::ofConstants(
      SharedMemory(MemoryKind::MMAP_FD, std::move(fd), size, PROT_READ, 0));
  file.size_ = size;
  if (size <= kMostWhole) file.pieces_[0] = file.readPiece(0, size);
  HALYARD_RETURN_IF_ERROR(std::move(file.readError_));
  return file;
}

ModelFile ModelFile::ofMemory(std::span<const uint8_t> bytes) {
  ModelFile file;
  file.size_ = file.read_ = bytes.size();
  const uint8_t* data = bytes.data();
  if (reinterpret_cast<uintptr_t>(data) % alignof(uint64_t) != 0) {
    auto& copy = file.memory_.emplace_back(
        std::make_unique_for_overwrite<uint64_t[]>((bytes.size() + 7) / 8));
    std::memcpy(copy.get(), data, bytes.size());
    data = reinterpret_cast<const uint8_t*>(copy.get());
  }
  file.pieces_[0] = {0, bytes.size(), data};
  return file;
}

ModelFile ModelFile::ofParts(std::span<const Part> parts, SharedMemoryPtr pool,
                             uint64_t poolBegin) {
  ModelFile file;
  file.pieces_.clear();
  for (const Part& part : parts) {
    const uint64_t end = part.offset + part.bytes.size();
    file.pieces_.push_back({part.offset, end, part.bytes.data()});
    file.size_ = end;
  }
  file.isWhole_ = true;
  file.pool_ = std::move(pool);
  file.poolBegin_ = poolBegin;
  return file;
}

std::optional<uint32_t> ModelFile::placeInPool(uint64_t offset, uint64_t length) const {
  if (pool_ == nullptr || offset < poolBegin_) return std::nullopt;
  const uint64_t at = offset - poolBegin_;
  if (at > pool_->size() || length > pool_->size() - at || at > UINT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(at);
}

const uint8_t* ModelFile::find(uint64_t offset, uint64_t length) {
  const auto after = std::upper_bound(pieces_.begin() + 1, pieces_.end(), offset,
                                      [](uint64_t at, const Piece& p) { return at < p.begin; });
  const Piece& piece = *(after - 1);
  if (piece.contains(offset, length)) {
    last_ = static_cast<size_t>(after - 1 - pieces_.begin());
    return piece.data + (offset - piece.begin);
  }
  for (const Piece& other : across_) {
    if (other.contains(offset, length)) return other.data + (offset - other.begin);
  }
  return nullptr;
}

// Loads a range that is not completely in one piece. It makes a new piece between its neighbours,
// or a separate one if it overlaps them.
const uint8_t* ModelFile::load(uint64_t offset, uint64_t length) {
  if (pool_ == nullptr || isWhole_ || !readError_.ok()) return nullptr;
  const uint64_t end = offset + length;
  if (read_ + std::max(length, kPiece) > size_ + kMostBeyond) {
    pieces_.assign(1, readPiece(0, size_));
    across_.clear();
    last_ = 0;
    return readError_.ok() ? pieces_[0].data + offset : nullptr;
  }
  const auto next = std::upper_bound(pieces_.begin() + 1, pieces_.end(), offset,
                                     [](uint64_t at, const Piece& p) { return at < p.begin; });
  const uint64_t from = (next - 1)->end;
  const uint64_t to = next == pieces_.end() ? size_ : next->begin;
  if (offset < from || end > to) {
    const Piece piece = readPiece(offset / kAlignment * kAlignment, end);
    if (!readError_.ok()) return nullptr;
    across_.push_back(piece);
    return piece.data + (offset - piece.begin);
  }
  const uint64_t blocks = (end + kPiece - 1) / kPiece * kPiece;
  const Piece piece = readPiece(std::max(from, offset / kPiece * kPiece), std::min(blocks, to));
  if (!readError_.ok()) return nullptr;
  last_ = static_cast<size_t>(next - pieces_.begin());
  pieces_.insert(next, piece);
  return piece.data + (offset - piece.begin);
}

ModelFile::Piece ModelFile::readPiece(uint64_t begin, uint64_t end) {
  const auto size = static_cast<size_t>(end - begin);
  auto& memory = memory_.emplace_back(std::make_unique_for_overwrite<uint64_t[]>((size + 7) / 8));
  auto* const data = reinterpret_cast<uint8_t*>(memory.get());
  readError_ = readRange(pool_->fd(), begin, {data, size});
  read_ += size;
  return {begin, end, data};
}

const uint8_t* ModelFile::passing(uint64_t offset, uint64_t length) {
  if (offset > size_ || length > size_ - offset) return nullptr;
  const uint64_t block = offset / kPassing * kPassing;
  if (length > kPassing) return at(offset, length);
  if (const uint8_t* const found = find(offset, length)) return found;
  if (pool_ == nullptr || isWhole_ || !readError_.ok()) return nullptr;
  if (!passing_) passing_ = std::make_unique_for_overwrite<uint8_t[]>(kPassing * windows_.size());
  const size_t number = block / kPassing % windows_.size();
  Piece& window = windows_[number];
  if (!window.contains(offset, length)) {
    // The window starts at the block's start, unless the range would not fit.
    const uint64_t begin = offset + length <= block + kPassing ? block : offset;
    const uint64_t end = std::min<uint64_t>(begin + kPassing, size_);
    uint8_t* const data = passing_.get() + number * kPassing;
    window = {};
    readError_ = readRange(pool_->fd(), begin, {data, end - begin});
    if (!readError_.ok()) return nullptr;
    window = {begin, end, data};
  }
  return window.data + (offset - window.begin);
}

Status ModelFile::whyNot() const {
  if (!readError_.ok()) return readError_;
  return badData("is damaged: an offset or a length in its FlatBuffer of {} bytes does not hold",
                 size_);
}

}  // namespace halyard::import

#include "runtime/run/run_memory.h"

#include <cstring>

namespace halyard::runtime {
namespace {

// The size of a page in bytes. Shared memory is a multiple of it.
constexpr size_t kPage = 4096;

}  // namespace

Result<RunMemory::Piece> RunMemory::newPiece(size_t bytes) {
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr memory,
                           SharedMemory::create(bytes, "halyard temporaries"),
                           "{} bytes for temporaries", bytes);
  HALYARD_ASSIGN_OR_RETURN(Mapping mapping, memory->map(), "{} bytes for temporaries", bytes);
  return Piece{std::move(memory), std::move(mapping)};
}

Result<std::unique_ptr<RunMemory>> RunMemory::create(size_t blockBytes, size_t growing) {
  auto memory = std::make_unique<RunMemory>();
  if (blockBytes > 0) {
    HALYARD_ASSIGN_OR_RETURN(memory->block_, newPiece(blockBytes));
  }
  memory->growing_.resize(growing);
  return memory;
}

Status RunMemory::reserve(size_t i, size_t bytes) {
  if (capacity(i) >= bytes && capacity(i) > 0) return okStatus();
  HALYARD_ASSIGN_OR_RETURN(growing_[i],
                           newPiece((std::max<size_t>(bytes, 1) + kPage - 1) / kPage * kPage));
  return okStatus();
}

Status RunMemory::renew(Piece* piece) {
  if (piece->mapping.size() == 0) return okStatus();
  HALYARD_ASSIGN_OR_RETURN(Piece fresh, newPiece(piece->mapping.size()));
  std::memcpy(fresh.mapping.data(), piece->mapping.data(), piece->mapping.size());
  *piece = std::move(fresh);
  return okStatus();
}

Status RunMemory::renew() {
  HALYARD_RETURN_IF_ERROR(renew(&block_));
  for (Piece& piece : growing_) HALYARD_RETURN_IF_ERROR(renew(&piece));
  return okStatus();
}

Result<std::unique_ptr<RunMemory>> RunMemoryPool::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!kept_.empty()) {
      std::unique_ptr<RunMemory> memory = std::move(kept_.back());
      kept_.pop_back();
      return memory;
    }
  }
  return RunMemory::create(blockBytes_, growing_);
}

void RunMemoryPool::giveBack(std::unique_ptr<RunMemory> memory) {
  const std::lock_guard lock(mutex_);
  if (kept_.size() < kMostKept) kept_.push_back(std::move(memory));
}

}  // namespace halyard::runtime

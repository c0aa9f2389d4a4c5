// RunMemory: the memory of one run for values between the nodes of its plan, and RunMemoryPool,
// which keeps it for later runs.
// Thread safety: a RunMemory is used by one run at a time; a pool by any thread.
// Ownership: owns shared memory and its mappings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "halyard/driver/hal_types.h"
#include "halyard/driver/shared_memory.h"

namespace halyard::runtime {

class RunMemory {
 public:
  // `blockBytes` for values of known size, and `growing` values that have no memory yet.
  // OUT_OF_MEMORY.
  static Result<std::unique_ptr<RunMemory>> create(size_t blockBytes, size_t growing);

  // Valid while there is a block, until renew().
  const hal::RequestPool& block() const { return block_.pool; }
  uint8_t* blockData() const { return block_.mapping.data(); }

  // Likewise of growing value i; an invalid pool and null as long as it has no memory.
  const hal::RequestPool& growing(size_t i) const { return growing_[i].pool; }
  uint8_t* growingData(size_t i) const { return growing_[i].mapping.data(); }
  uint32_t capacity(size_t i) const {
    return static_cast<uint32_t>(std::min<size_t>(growing_[i].mapping.size(), UINT32_MAX));
  }
  // Gives value i at least `bytes`; what was in it is lost when it had less. OUT_OF_MEMORY.
  Status reserve(size_t i, size_t bytes);

  // Goes on in other memory with the same contents: the old one may be written by a process that
  // nobody waits for any more. OUT_OF_MEMORY.
  Status renew();

 private:
  struct Piece {
    hal::RequestPool pool;
    Mapping mapping;
  };
  static Result<Piece> newPiece(size_t bytes);
  static Status renew(Piece* piece);

  Piece block_;
  std::vector<Piece> growing_;
};

class RunMemoryPool {
 public:
  // How many are kept that no run uses.
  static constexpr size_t kMostKept = 16;

  // A pool for runs of one layout, by RunMemory::create's arguments.
  RunMemoryPool(size_t blockBytes, size_t growing) : blockBytes_(blockBytes), growing_(growing) {}

  Result<std::unique_ptr<RunMemory>> borrow();
  // Only what no process writes to any more.
  void giveBack(std::unique_ptr<RunMemory> memory);

 private:
  const size_t blockBytes_;
  const size_t growing_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<RunMemory>> kept_;
};

}  // namespace halyard::runtime

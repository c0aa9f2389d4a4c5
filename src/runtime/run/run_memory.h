// RunMemory: the memory of one run for values between the nodes of its plan. RunMemoryPool keeps it
// for later runs.
// Thread safety: one run at a time uses a RunMemory. Any thread may use a pool.
// Ownership: owns shared memory and its mappings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "halyard/driver/hal_types.h"
#include "halyard/driver/shared_memory.h"
#include "runtime/memory/described_memory.h"

namespace halyard::runtime {

struct PreparedStep;

class RunMemory {
 public:
  // The buffer of a value that stays on a device (RunLayout::onDevice).
  struct OnDevice {
    std::shared_ptr<const PreparedStep> writer;  // it was allocated for this one, or not possible
    std::shared_ptr<DescribedMemory> buffer;     // null: the value is in the block
  };
  std::vector<OnDevice> onDevice;

  // Makes a block of `blockBytes` for the values of known size. The `growing` values have no memory
  // yet. Error: OUT_OF_MEMORY.
  static Result<std::unique_ptr<RunMemory>> create(size_t blockBytes, size_t growing);

  // Both are valid until renew(), if there is a block.
  const hal::RequestPool& block() const { return block_.pool; }
  uint8_t* blockData() const { return block_.mapping.data(); }

  // The same for growing value i. The pool is invalid and the pointer is null before the first
  // reserve().
  const hal::RequestPool& growing(size_t i) const { return growing_[i].pool; }
  uint8_t* growingData(size_t i) const { return growing_[i].mapping.data(); }
  uint32_t capacity(size_t i) const {
    return static_cast<uint32_t>(std::min<size_t>(growing_[i].mapping.size(), UINT32_MAX));
  }
  // Gives value i at least `bytes`. If it had less, its contents are lost. Error: OUT_OF_MEMORY.
  Status reserve(size_t i, size_t bytes);

  // Moves the contents to new memory. A process that the runtime no longer waits for may still
  // write to the old memory. Error: OUT_OF_MEMORY.
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
  // The largest number of unused memories in the pool.
  static constexpr size_t kMostKept = 16;

  // A pool for runs of one layout, with the arguments of RunMemory::create.
  RunMemoryPool(size_t blockBytes, size_t growing) : blockBytes_(blockBytes), growing_(growing) {}

  Result<std::unique_ptr<RunMemory>> borrow();
  // Only for memory that no process writes to any more.
  void giveBack(std::unique_ptr<RunMemory> memory);

 private:
  const size_t blockBytes_;
  const size_t growing_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<RunMemory>> kept_;
};

}  // namespace halyard::runtime

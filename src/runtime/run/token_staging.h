// TokenStaging: shared memory in place of a driver's buffers.
// A device that cannot use the buffers computes in it. That is another device, or the same device
// after its process has ended.
// Thread safety: one thread at a time. Ownership: owns the shared memory, shares the buffers.
#pragma once

#include <memory>
#include <vector>

#include "halyard/driver/device.h"
#include "runtime/memory/memory_arguments.h"

namespace halyard::runtime {

class TokenStaging {
 public:
  // Replaces each token in `request` that `prepared` does not know by shared memory, and copies the
  // inputs into it.
  // Errors: OP_FAILED when the size of a buffer is unknown; errors of the driver that owns the
  // buffer.
  static Result<TokenStaging> stage(const MemoryArguments& memories,
                                    const hal::PreparedModel& prepared, hal::Request* request);
  // Whether `prepared` does not know some token of `memories` in `request`.
  static bool isNeeded(const MemoryArguments& memories, const hal::PreparedModel& prepared,
                       const hal::Request& request);
  // Call this after a successful computation. It copies the outputs to the buffers, and adds the
  // bytes that the staging has copied to `result`.
  Status copyBack(hal::ExecutionResult* result) const;

 private:
  struct Output {
    std::shared_ptr<DescribedMemory> memory;
    SharedMemoryPtr staging;
  };
  std::vector<Output> outputs_;
  uint64_t inputBytes_ = 0;
};

}  // namespace halyard::runtime

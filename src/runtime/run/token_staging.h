// TokenStaging: shared memory in the place of a driver's buffers, for a computation by somebody who
// cannot use them: another device, or the same one after its process has ended.
// Thread safety: as a request's. Ownership: owns the shared memory, shares the buffers.
#pragma once

#include <memory>
#include <vector>

#include "halyard/driver/device.h"
#include "runtime/memory/memory_arguments.h"

namespace halyard::runtime {

class TokenStaging {
 public:
  // Puts shared memory into `request` wherever it has a token that `prepared` does not know, and
  // copies the inputs in. OP_FAILED when the size of an output is open; a driver's own error.
  static Result<TokenStaging> stage(const MemoryArguments& memories,
                                    const hal::PreparedModel& prepared, hal::Request* request);
  // After a computation that has succeeded: brings the outputs to the buffers.
  Status copyBack() const;

 private:
  struct Output {
    std::shared_ptr<DescribedMemory> memory;
    SharedMemoryPtr staging;
  };
  std::vector<Output> outputs_;
};

}  // namespace halyard::runtime

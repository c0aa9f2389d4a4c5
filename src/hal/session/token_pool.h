// TokenPool: the tokens of all buffers of a process. They are random, so that a client cannot guess
// one. Each token is in use only once.
// Thread safety: all methods may be called from any thread. Ownership: owns its table.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_set>

#include "halyard/driver/status.h"

namespace halyard::hal {

class TokenPool {
 public:
  // A token that is not 0. OP_FAILED when the system has no random numbers.
  Result<uint32_t> take();
  void release(uint32_t token);

 private:
  std::mutex mutex_;
  std::unordered_set<uint32_t> used_;
};

}  // namespace halyard::hal

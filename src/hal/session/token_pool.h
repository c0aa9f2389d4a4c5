// TokenPool: the tokens of all buffers of a process: random, so that none can be guessed, and each
// in use once.
// Thread safety: all methods may be called from any thread. Ownership: plain data.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_set>

#include "halyard/driver/status.h"

namespace halyard::hal {

class TokenPool {
 public:
  // Never 0. OP_FAILED when the system has no random numbers.
  Result<uint32_t> take();
  void release(uint32_t token);

 private:
  std::mutex mutex_;
  std::unordered_set<uint32_t> used_;
};

}  // namespace halyard::hal

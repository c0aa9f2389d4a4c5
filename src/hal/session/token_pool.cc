#include "hal/session/token_pool.h"

#include <sys/random.h>

#include <cerrno>

namespace halyard::hal {

Result<uint32_t> TokenPool::take() {
  const std::lock_guard lock(mutex_);
  for (;;) {
    uint32_t token = 0;
    const ssize_t count = ::getrandom(&token, sizeof(token), 0);
    if (count < 0 && errno != EINTR) return errnoStatus(ResultCode::OP_FAILED, errno, "getrandom");
    if (count == sizeof(token) && token != 0 && used_.insert(token).second) return token;
  }
}

void TokenPool::release(uint32_t token) {
  const std::lock_guard lock(mutex_);
  used_.erase(token);
}

}  // namespace halyard::hal

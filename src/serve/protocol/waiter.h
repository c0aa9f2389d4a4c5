// Waiter: waits for an answer that may come in another thread.
// Thread safety: one thread gives, one thread waits. Ownership: owns the answer until it is taken.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "serve/protocol/infer.h"

namespace halyard::serve {

class Waiter {
 public:
  void give(InferAnswer answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    given_.notify_one();  // within the lock, since the waiter may end after it
  }
  InferAnswer wait() {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [this] { return answer_.has_value(); });
    return std::move(*answer_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_;
  std::optional<InferAnswer> answer_;
};

}  // namespace halyard::serve

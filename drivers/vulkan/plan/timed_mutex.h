// TimedMutex: std::timed_mutex with waits that ThreadSanitizer knows. GCC's does not know
// pthread_mutex_clocklock, which std::timed_mutex uses.
// Thread safety: as std::timed_mutex. Ownership: none.
#pragma once

#include <condition_variable>
#include <mutex>

#include "halyard/driver/hal_types.h"

namespace halyard::vulkandriver {

// The names are those that std::unique_lock needs.
class TimedMutex {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !isLocked_; });
    isLocked_ = true;
  }
  bool try_lock_until(const hal::TimePoint& end) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, end, [this] { return !isLocked_; })) return false;
    return isLocked_ = true;
  }
  void unlock() {
    {
      const std::lock_guard lock(mutex_);
      isLocked_ = false;
    }
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool isLocked_ = false;
};

}  // namespace halyard::vulkandriver

// Quarantine: whether this process must not use a device any more, and the reason.
// Thread safety: all methods may be called from any thread.
// Ownership: owns its text.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

namespace halyard::runtime {

class Quarantine {
 public:
  // Sets the quarantine permanently. The first reason stays.
  void set(std::string reason) {
    const std::lock_guard lock(mutex_);
    if (isSet_.load(std::memory_order_relaxed)) return;
    reason_ = std::move(reason);
    isSet_.store(true, std::memory_order_release);
  }
  bool isSet() const { return isSet_.load(std::memory_order_acquire); }
  // Returns the reason; empty when not set.
  std::string reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

 private:
  std::atomic<bool> isSet_ = false;
  mutable std::mutex mutex_;
  std::string reason_;
};

}  // namespace halyard::runtime

// PendingKey: the key of a prepared model in its connection, which the driver may still have to
// give.
// Thread safety: wait may be called from any thread but the loop's; set and drop by the loop's.
// Ownership: shared by the prepared model and the call under way.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "halyard/driver/hal_types.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

class PendingKey {
 public:
  // `refused`, unless it is empty, is called with the error once the first wait has found one.
  explicit PendingKey(std::function<void(const Status&)> refused) : refused_(std::move(refused)) {}
  PendingKey(const PendingKey&) = delete;
  PendingKey& operator=(const PendingKey&) = delete;

  // Once.
  void set(Result<uint64_t> key) {
    {
      const std::lock_guard lock(mutex_);
      key_ = std::move(key);
      isThere_ = true;
    }
    there_.notify_all();
  }
  // Nobody will want it: whoever sets a key lets go of it himself. The key, if it is there.
  std::optional<uint64_t> drop();
  bool isDropped() const { return isDropped_; }

  // The key, or why there is none. MISSED_DEADLINE_TRANSIENT when neither is known by `until`.
  Result<uint64_t> wait(std::optional<TimePoint> until);

 private:
  const std::function<void(const Status&)> refused_;
  std::once_flag told_;
  std::atomic<bool> isThere_ = false;
  std::mutex mutex_;  // for what follows
  std::condition_variable there_;
  std::optional<Result<uint64_t>> key_;  // constant once it is there
  bool isDropped_ = false;               // loop thread only
};

}  // namespace halyard::hal

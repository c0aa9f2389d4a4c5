#include "hal/client/pending_key.h"

#include "base/looking.h"

namespace halyard::hal {

std::optional<uint64_t> PendingKey::drop() {
  isDropped_ = true;
  const std::lock_guard lock(mutex_);
  return key_ && key_->ok() ? std::optional(**key_) : std::nullopt;
}

Result<uint64_t> PendingKey::wait(std::optional<TimePoint> until) {
  Looking::forAnswer([this] { return isThere_.load(); });
  {
    std::unique_lock lock(mutex_);
    const auto isThere = [this] { return key_.has_value(); };
    if (!until) {
      there_.wait(lock, isThere);
    } else if (!there_.wait_until(lock, *until, isThere)) {
      return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT,
                        "the model is still being prepared at the deadline");
    }
  }
  if (key_->ok()) return **key_;
  if (refused_) std::call_once(told_, refused_, key_->status());
  return key_->status();
}

}  // namespace halyard::hal

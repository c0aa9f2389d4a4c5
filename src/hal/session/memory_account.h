// MemoryAccount: counts the memory that the objects of one client hold in this process, and limits
// it.
// Thread safety: all methods may be called from any thread. Ownership: shared by the Shares taken
// from it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "hal/core/quota.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

class MemoryAccount : public std::enable_shared_from_this<MemoryAccount> {
 public:
  // The memory of one object. The destructor returns it to the account.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : account_(std::move(other.account_)),
          bytes_(std::exchange(other.bytes_, 0)),
          charge_(std::move(other.charge_)) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(account_, other.account_);
      std::swap(bytes_, other.bytes_);
      std::swap(charge_, other.charge_);
      return *this;
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() {
      if (account_ != nullptr) account_->give(bytes_);
    }

   private:
    friend class MemoryAccount;
    Share(std::shared_ptr<MemoryAccount> account, uint64_t bytes, Quota::Charge charge)
        : account_(std::move(account)), bytes_(bytes), charge_(std::move(charge)) {}

    std::shared_ptr<MemoryAccount> account_;
    uint64_t bytes_ = 0;
    Quota::Charge charge_;
  };

  // `quota`: is charged too; may be null.
  explicit MemoryAccount(uint64_t limit, std::shared_ptr<Quota> quota = nullptr)
      : limit_(limit), quota_(std::move(quota)) {}

  // RESOURCE_EXHAUSTED_PERSISTENT when the limit does not allow it. Other errors: those of
  // Quota::charge.
  Result<Share> take(uint64_t bytes) {
    Quota::Charge charge;
    if (quota_ != nullptr) {
      HALYARD_ASSIGN_OR_RETURN(charge, quota_->charge(Quota::Resource::MEMORY, bytes));
    }
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ - used_) {
      return makeStatus(ResultCode::RESOURCE_EXHAUSTED_PERSISTENT,
                        "{} bytes more than the {} in use; the limit is {}", bytes, used_, limit_);
    }
    used_ += bytes;
    return Share(shared_from_this(), bytes, std::move(charge));
  }
  // Charges one more buffer. The errors are those of Quota::charge.
  Result<Quota::Charge> countBuffer() {
    if (quota_ == nullptr) return Quota::Charge();
    return quota_->charge(Quota::Resource::BUFFERS, 1);
  }
  uint64_t used() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }

 private:
  void give(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
  }

  const uint64_t limit_;
  const std::shared_ptr<Quota> quota_;
  mutable std::mutex mutex_;
  uint64_t used_ = 0;
};

}  // namespace halyard::hal

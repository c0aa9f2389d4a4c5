#include "hal/core/quota.h"

#include <utility>

namespace halyard::hal {
namespace {

constexpr std::array<std::string_view, Quota::kResources> kNames = {
    "bytes of memory", "prepared models", "running executions",
    "buffers",         "rings",           "descriptors of files"};

}  // namespace

Quota::Charge::Charge(Charge&& other) noexcept
    : quota_(std::move(other.quota_)), resource_(other.resource_), amount_(other.amount_) {}

Quota::Charge& Quota::Charge::operator=(Charge&& other) noexcept {
  std::swap(quota_, other.quota_);
  std::swap(resource_, other.resource_);
  std::swap(amount_, other.amount_);
  return *this;
}

Quota::Charge::~Charge() {
  if (quota_ != nullptr) quota_->giveBack(resource_, amount_);
}

Status Quota::Charge::add(uint64_t amount) {
  if (quota_ == nullptr) return okStatus();
  HALYARD_RETURN_IF_ERROR(quota_->take(resource_, amount));
  amount_ += amount;
  return okStatus();
}

std::shared_ptr<Quota> Quota::create(const QuotaLimits& limits, std::string who,
                                     std::shared_ptr<Quota> above) {
  return std::shared_ptr<Quota>(new Quota(limits, std::move(who), std::move(above)));
}

Quota::Quota(const QuotaLimits& limits, std::string who, std::shared_ptr<Quota> above)
    : limits_{limits.memoryBytes, limits.models, limits.executions,
              limits.buffers,     limits.rings,  limits.descriptors},
      who_(std::move(who)),
      above_(std::move(above)) {}

Result<Quota::Charge> Quota::charge(Resource resource, uint64_t amount) {
  HALYARD_RETURN_IF_ERROR(take(resource, amount));
  return Charge(shared_from_this(), resource, amount);
}

uint64_t Quota::held(Resource resource) const {
  return held_[static_cast<size_t>(resource)].load(std::memory_order_relaxed);
}

Status Quota::take(Resource resource, uint64_t amount) {
  const auto index = static_cast<size_t>(resource);
  const uint64_t limit = limits_[index];
  if (amount > limit) {
    return makeStatus(ResultCode::RESOURCE_EXHAUSTED_PERSISTENT,
                      "{} asks for {} {}; it may have {}", who_, amount, kNames[index], limit);
  }
  std::atomic<uint64_t>& held = held_[index];
  uint64_t before = held.load(std::memory_order_relaxed);
  do {
    if (before > limit - amount) {
      return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                        "{} has {} of {} {}, and asks for {} more", who_, before, limit,
                        kNames[index], amount);
    }
  } while (!held.compare_exchange_weak(before, before + amount, std::memory_order_relaxed));
  if (above_ == nullptr) return okStatus();
  Status status = above_->take(resource, amount);
  if (!status.ok()) held.fetch_sub(amount, std::memory_order_relaxed);
  return status;
}

void Quota::giveBack(Resource resource, uint64_t amount) {
  held_[static_cast<size_t>(resource)].fetch_sub(amount, std::memory_order_relaxed);
  if (above_ != nullptr) above_->giveBack(resource, amount);
}

}  // namespace halyard::hal

#include "plan/speed_store.h"

#include <array>
#include <bit>
#include <cmath>

namespace halyard::vulkandriver {
namespace {

constexpr std::array<uint8_t, 5> kKey = {'s', 'p', 'e', 'e', 'd'};
using Bytes = std::array<uint8_t, sizeof(DeviceSpeed)>;
// Longer than any time of a device, in nanoseconds.
constexpr double kLongest = 1e12;

bool isPlausible(double time) { return std::isfinite(time) && time > 0 && time < kLongest; }

}  // namespace

SpeedStore::SpeedStore(const std::string& identity, const std::filesystem::path& file) {
  hal::BlobStore::Settings settings;
  settings.file = file;
  settings.limits = {kKey.size(), sizeof(Bytes), kKey.size() + sizeof(Bytes)};
  settings.build = identity;
  (void)store_.open(std::move(settings));
}

std::optional<DeviceSpeed> SpeedStore::saved() {
  Bytes bytes;
  if (store_.get(kKey, bytes) != bytes.size()) return std::nullopt;
  const auto speed = std::bit_cast<DeviceSpeed>(bytes);
  // The file may hold any bytes.
  for (const double time : {speed.submission, speed.product, speed.byte}) {
    if (!isPlausible(time)) return std::nullopt;
  }
  return speed;
}

std::optional<DeviceSpeed> SpeedStore::speedOf(const std::shared_ptr<VulkanDevice>& device) {
  const std::lock_guard lock(mutex_);
  if (isKnown_) return speed_;
  isKnown_ = true;
  speed_ = saved();
  if (speed_) return speed_;
  const Result<DeviceSpeed> measured = measureSpeed(device);
  if (!measured.ok()) return std::nullopt;
  speed_ = *measured;
  store_.set(kKey, std::bit_cast<Bytes>(*speed_));
  (void)store_.save();
  return speed_;
}

}  // namespace halyard::vulkandriver

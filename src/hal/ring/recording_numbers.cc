#include "hal/ring/recording_numbers.h"

#include <algorithm>

#include "hal/ring/packets.h"

namespace halyard::hal {
namespace {

// A request loses its number after this many computations of the ring without its own. With a lower
// limit, requests in turn would replace each other's recordings.
constexpr uint64_t kLongUnused = 4 * kMaxRecordings;

}  // namespace

void RecordingNumbers::allow(uint32_t count) {
  const std::lock_guard lock(mutex_);
  entries_.resize(std::min(count, kMaxRecordings));
}

RecordingNumbers::Entry* RecordingNumbers::find(uint64_t key) {
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  return found == entries_.end() ? nullptr : &*found;
}

std::optional<RecordingNumbers::Use> RecordingNumbers::use(uint64_t key) {
  const std::lock_guard lock(mutex_);
  ++uses_;
  Entry* entry = find(key);
  if (entry == nullptr) {
    Entry* oldest = nullptr;
    for (Entry& other : entries_) {
      if (other.isBeingFreed) continue;
      if (oldest == nullptr || other.lastUse < oldest->lastUse) oldest = &other;
    }
    if (oldest == nullptr) return std::nullopt;
    if (oldest->key != 0 && uses_ - oldest->lastUse <= kLongUnused) return std::nullopt;
    // The driver replaces its recording with this number.
    *oldest = Entry();
    oldest->key = key;
    entry = oldest;
  }
  entry->lastUse = uses_;
  return Use{static_cast<uint32_t>(entry - entries_.data()), entry->isRecorded};
}

void RecordingNumbers::confirm(uint64_t key) {
  const std::lock_guard lock(mutex_);
  if (Entry* const entry = find(key)) entry->isRecorded = true;
}

void RecordingNumbers::release(uint64_t key) {
  uint32_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    Entry* const entry = find(key);
    if (entry == nullptr) return;
    *entry = Entry();
    entry->isBeingFreed = true;
    number = static_cast<uint32_t>(entry - entries_.data());
  }
  onFree_(number);
}

void RecordingNumbers::recycle(uint32_t number) {
  const std::lock_guard lock(mutex_);
  if (number < entries_.size() && entries_[number].isBeingFreed) entries_[number] = Entry();
}

}  // namespace halyard::hal

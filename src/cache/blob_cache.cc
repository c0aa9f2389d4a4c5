#include "halyard/driver/blob_cache.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "cache/blob_format.h"

namespace halyard::hal {

BlobCache::BlobCache(const Limits& limits, const Policy& policy, std::string build)
    : limits_(limits), policy_(policy), build_(std::move(build)) {}

BlobCache::BlobCache(const Limits& limits) : BlobCache(limits, Policy()) {}

bool BlobCache::Shorter::operator()(Bytes a, Bytes b) const {
  if (a.size() != b.size()) return a.size() < b.size();
  return !a.empty() && std::memcmp(a.data(), b.data(), a.size()) < 0;
}

bool BlobCache::fits(Bytes key, Bytes value) const {
  return !key.empty() && !value.empty() && key.size() <= limits_.key &&
         value.size() <= limits_.value && key.size() <= limits_.total &&
         value.size() <= limits_.total - key.size();
}

void BlobCache::set(Bytes key, Bytes value) {
  put(key, value, static_cast<int64_t>(std::time(nullptr)));
}

void BlobCache::put(Bytes key, Bytes value, int64_t savedAt) {
  if (!fits(key, value)) return;
  // The loop repeats when entries were evicted. The old entry of this key may be among them.
  while (true) {
    const auto old = entries_.find(key);
    const size_t oldBytes = old != entries_.end() ? key.size() + old->second.value.size() : 0;
    const size_t newBytes = key.size() + value.size();
    if (total_ - oldBytes + newBytes <= limits_.total) {
      total_ = total_ - oldBytes + newBytes;
      Entry entry{{value.begin(), value.end()}, ++uses_, savedAt};
      if (old != entries_.end()) {
        old->second = std::move(entry);
      } else {
        entries_.emplace(std::vector<uint8_t>(key.begin(), key.end()), std::move(entry));
      }
      return;
    }
    if (!cleanable()) return;
    clean(newBytes, oldBytes);
  }
}

bool BlobCache::cleanable() const {
  return policy_.capacity == Capacity::HALVE ? total_ > limits_.total / 2 : total_ > 0;
}

void BlobCache::clean(size_t newBytes, size_t oldBytes) {
  const size_t half = limits_.total / 2;
  const size_t fit = limits_.total + oldBytes - newBytes;
  const size_t target = policy_.capacity == Capacity::HALVE ? half
                        : policy_.capacity == Capacity::FIT ? fit
                                                            : std::min(half, fit);
  while (total_ > target) {
    const auto gone = victim();
    total_ -= gone->first.size() + gone->second.value.size();
    entries_.erase(gone);
  }
}

BlobCache::Entries::iterator BlobCache::victim() {
  if (policy_.select == Select::RANDOM) {
    return std::next(entries_.begin(), static_cast<ptrdiff_t>(random_() % entries_.size()));
  }
  return std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
    return a.second.used < b.second.used;
  });
}

size_t BlobCache::get(Bytes key, std::span<uint8_t> buffer) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return 0;
  found->second.used = ++uses_;
  const std::vector<uint8_t>& value = found->second.value;
  if (value.size() <= buffer.size()) std::copy(value.begin(), value.end(), buffer.begin());
  return value.size();
}

size_t BlobCache::get(Bytes key, void** value, const std::function<void*(size_t)>& allocate) {
  *value = nullptr;
  const auto found = entries_.find(key);
  if (found == entries_.end()) return 0;
  found->second.used = ++uses_;
  const std::vector<uint8_t>& bytes = found->second.value;
  *value = allocate(bytes.size());
  if (*value != nullptr) std::memcpy(*value, bytes.data(), bytes.size());
  return bytes.size();
}

std::optional<std::vector<uint8_t>> BlobCache::get(Bytes key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  found->second.used = ++uses_;
  return found->second.value;
}

void BlobCache::clear() {
  entries_.clear();
  total_ = 0;
}

std::vector<BlobCache::Entries::const_iterator> BlobCache::byUse() const {
  std::vector<Entries::const_iterator> list;
  list.reserve(entries_.size());
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) list.push_back(entry);
  std::sort(list.begin(), list.end(),
            [](const auto& a, const auto& b) { return a->second.used < b->second.used; });
  return list;
}

size_t BlobCache::flattenedSize() const {
  size_t size = cache::blobHeadSize(build_);
  for (const auto& [key, entry] : entries_) {
    size += cache::blobEntrySize(key.size(), entry.value.size());
  }
  return size;
}

Status BlobCache::flatten(std::span<uint8_t> into) const {
  const size_t size = flattenedSize();
  if (into.size() < size) {
    return badData("flattened the cache has {} bytes, there is room for {}", size, into.size());
  }
  uint8_t* at = into.data();
  cache::encodeBlobHead(build_, static_cast<uint32_t>(entries_.size()), at);
  at += cache::blobHeadSize(build_);
  for (const auto& entry : byUse()) {
    cache::encodeBlobEntry({entry->first, entry->second.value, entry->second.savedAt}, at);
    at += cache::blobEntrySize(entry->first.size(), entry->second.value.size());
  }
  return okStatus();
}

Result<size_t> BlobCache::unflatten(Bytes bytes) {
  clear();
  HALYARD_ASSIGN_OR_RETURN(const cache::BlobHead head, cache::decodeBlobHead(bytes));
  if (!head.known || head.build != build_) return size_t{0};
  Result<size_t> damaged = cache::decodeBlobs(bytes, head, [this](const cache::BlobEntry& entry) {
    put(entry.key, entry.value, entry.savedAt);
  });
  if (!damaged.ok()) clear();
  return damaged;
}

}  // namespace halyard::hal

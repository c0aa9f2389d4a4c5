#include "serve/http/connections.h"

#include <sys/socket.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace halyard::serve {

Connections::Entry::Entry(Connections& all, int socket, std::string address)
    : all_(all), socket_(socket), address_(std::move(address)), since_(Clock::now()) {
  const std::lock_guard lock(all_.mutex_);
  place_ = all_.entries_.insert(all_.entries_.end(), this);
}

Connections::Entry::~Entry() {
  const std::lock_guard lock(all_.mutex_);
  all_.entries_.erase(place_);
}

void Connections::Entry::begin(bool isWaiting) {
  const std::lock_guard lock(all_.mutex_);
  isWaiting_ = isWaiting;
  since_ = Clock::now();
}

void Connections::Entry::beginWait() { begin(true); }
void Connections::Entry::beginWork() { begin(false); }

// The thread of the connection finds the end of the socket, and closes it.
void Connections::close(Entry& entry) {
  entry.isClosed_ = true;
  ::shutdown(entry.socket_, SHUT_RDWR);
}

bool Connections::closeOne() {
  const std::lock_guard lock(mutex_);
  std::unordered_map<std::string_view, size_t> counts;
  for (const Entry* entry : entries_) counts[entry->address_] += entry->isClosed_ ? 0 : 1;
  Entry* chosen = nullptr;
  const auto rank = [&](const Entry& entry) {
    return std::tuple(counts[entry.address_], -entry.since_.time_since_epoch());
  };
  for (Entry* entry : entries_) {
    if (!entry->isWaiting_ || entry->isClosed_) continue;
    if (chosen == nullptr || rank(*entry) > rank(*chosen)) chosen = entry;
  }
  if (chosen != nullptr) close(*chosen);
  return chosen != nullptr;
}

void Connections::closeSlow(Clock::time_point begin, std::chrono::milliseconds patience) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  for (Entry* entry : entries_) {
    const bool isSlow = now - std::max(entry->since_, begin) >= patience;
    if (isSlow && entry->isWaiting_ && !entry->isClosed_) close(*entry);
  }
}

}  // namespace halyard::serve

#include "serve/grpc/send_watch.h"

namespace halyard::serve {
namespace {

using std::chrono::steady_clock;

// An answer gets this time for each mebibyte, beside the patience.
constexpr std::chrono::seconds kTimeOfMebibyte{10};
constexpr std::chrono::milliseconds kLongestInterval{1000};

}  // namespace

SendWatch::SendWatch(std::chrono::milliseconds patience)
    : patience_(patience), thread_([this] { work(); }) {}

SendWatch::~SendWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ending_.notify_all();
  thread_.join();
}

void SendWatch::Entry::begin(size_t bytes) {
  last_ = steady_clock::now() + watch_.patience_ + (bytes >> 20) * kTimeOfMebibyte;
  const std::lock_guard lock(watch_.mutex_);
  watch_.entries_.insert(this);
}

void SendWatch::Entry::end() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.entries_.erase(this);
}

void SendWatch::work() {
  const auto interval = std::min(kLongestInterval, patience_ / 4);
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, interval, [this] { return ends_; })) {
    const auto now = steady_clock::now();
    for (Entry* const entry : entries_) {
      if (entry->last_ < now) entry->context_.TryCancel();
    }
  }
}

}  // namespace halyard::serve

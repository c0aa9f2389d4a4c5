#include "thread_choice.h"

#include <algorithm>

namespace halyard::cpudriver {

ThreadChoice::Manner ThreadChoice::begin(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (running_++ == 0) {
    if (counts_) note(ended_ - began_ + std::min<Duration>(now - ended_, kSoon));
    counts_ = true;
    began_ = now;
  } else {
    counts_ = false;
  }
  return tries_ ? other_ : best_;
}

void ThreadChoice::end(TimePoint now, bool counts) {
  const std::lock_guard lock(mutex_);
  --running_;
  ended_ = now;
  counts_ = counts_ && counts && running_ == 0;
}

void ThreadChoice::note(Duration time) {
  --left_;
  if (!tries_) {
    usual_[noted_++ % kSamples] = time;
    if (left_ > 0) return;
    tries_ = beginTrial();
    left_ = tries_ ? kSettling + kSamples : kLongestInterval;
    return;
  }
  if (left_ < kSamples) tried_[static_cast<size_t>(left_)] = time;
  if (left_ == 0) decide();
}

bool ThreadChoice::beginTrial() {
  if (best_ != Manner::DIVIDED) {
    other_ = Manner::DIVIDED;
    return true;
  }
  const bool isLong = median(usual_) > kLongest;
  other_ = isLong ? Manner::IN_ORDER : Manner::ALONE;
  return !isLong || knowsOrder_;
}

void ThreadChoice::decide() {
  const Duration usual = median(usual_);
  const Duration tried = median(tried_);
  // What is hardly better may be noise.
  const Duration margin = std::max<Duration>(usual / 32, std::chrono::nanoseconds(300));
  if (tried + margin < usual) {
    best_ = other_;
    usual_ = tried_;
    interval_ = kShortestInterval;
  } else {
    interval_ = std::min(2 * interval_, kUsualInterval);
  }
  left_ = interval_;
  if (tried > usual && usual.count() > 0) {
    // So rarely that the loss is small.
    constexpr int64_t kWorth = int64_t{kShareOfTime} * (kSettling + kSamples);
    const int64_t rare = kWorth * (tried - usual).count() / usual.count();
    left_ = static_cast<int>(std::clamp<int64_t>(rare, interval_, kLongestInterval));
  }
  tries_ = false;
}

ThreadChoice::Duration ThreadChoice::median(Samples samples) {
  std::ranges::nth_element(samples, samples.begin() + kSamples / 2);
  return samples[kSamples / 2];
}

}  // namespace halyard::cpudriver

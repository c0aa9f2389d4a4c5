#include "hal/ring/spinning.h"

#include <sched.h>

#include <algorithm>

namespace halyard::hal {
namespace {

constexpr int64_t kRecount = 50'000'000;

int64_t countOf(TimePoint time) { return time.time_since_epoch() / std::chrono::nanoseconds(1); }

}  // namespace

uint32_t currentCore() {
  const int core = ::sched_getcpu();
  return core < 0 ? kUnknownCore : static_cast<uint32_t>(core);
}

void Expectation::note(std::optional<std::chrono::nanoseconds> work,
                       std::chrono::nanoseconds waited) {
  const bool hasOnlyWoken = work && waited < *work + kWakeUps;
  mean_ = (mean_ + std::min(hasOnlyWoken ? *work : waited, kLongest)) / 2;
}

void Shortage::note(TimePoint now) {
  const auto count = [](std::chrono::nanoseconds time) { return time.count(); };
  const int64_t last = length_.load(std::memory_order_relaxed);
  // The last shortage ended only a short time ago, so it continues.
  const bool again = countOf(now) - end_.load(std::memory_order_relaxed) < 2 * last;
  const int64_t length = again ? std::min(2 * last, count(kLongest)) : count(kShortest);
  length_.store(length, std::memory_order_relaxed);
  end_.store(countOf(now) + length, std::memory_order_relaxed);
}

bool Shortage::lasts(TimePoint now) const {
  return countOf(now) < end_.load(std::memory_order_relaxed);
}

Parting::Move Parting::next(TimePoint now, bool together, bool isQuick) {
  if (before_) return judge(now, together);
  if (!together || !isQuick) {
    answers_ = 0;
    return Move::NONE;
  }
  if (answers_++ == 0) first_ = now;
  if (answers_ <= kAnswers) return Move::NONE;
  answers_ = 0;
  if (now < due_) return Move::NONE;
  before_ = now - first_;
  moved_ = now;
  return Move::LEAVE;
}

// After a move: whether it was without effect.
Parting::Move Parting::judge(TimePoint now, bool together) {
  // A move to a core that another thread keeps may take milliseconds.
  constexpr std::chrono::milliseconds kForMove{1};
  if (++answers_ == kOfMove) first_ = now;
  const bool isLate = now - moved_ > 2 * *before_ + kForMove;
  if (!isLate && answers_ < kOfMove + kAnswers) return Move::NONE;
  const bool isFaster = !isLate && now - first_ < *before_;
  before_.reset();
  answers_ = 0;
  pause_ = isFaster ? std::chrono::milliseconds(0)
                    : std::clamp(2 * pause_, kShortestPause, kLongestPause);
  due_ = now + std::max(pause_, kPause);
  return isFaster || together ? Move::NONE : Move::JOIN;
}

unsigned SpinGate::cores(TimePoint now) {
  const int64_t counted = coresCounted_.load(std::memory_order_relaxed);
  if (countOf(now) - counted < kRecount) return cores_.load(std::memory_order_relaxed);
  cpu_set_t set;
  // This fails on machines with more cores than the set has.
  const bool known = ::sched_getaffinity(0, sizeof set, &set) == 0;
  const unsigned count = known ? static_cast<unsigned>(CPU_COUNT(&set)) : 2;
  cores_.store(count, std::memory_order_relaxed);
  coresCounted_.store(countOf(now), std::memory_order_relaxed);
  return count;
}

bool SpinGate::enter(TimePoint now, uint32_t peerCore) {
  if (shortage_.lasts(now)) return false;
  if (peerCore == currentCore()) return false;
  // A peer that is bound to another core does not need the cores of this thread.
  const unsigned count = cores(now);
  if (count < 2 && peerCore == kUnknownCore) return false;
  // At most half of the cores poll, because the peers need cores, too.
  if (spinners_.fetch_add(1, std::memory_order_relaxed) < std::max(1U, count / 2)) return true;
  spinners_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

}  // namespace halyard::hal

// Active waiting for a peer, and the decision whether it is worth a processor.
// Thread safety: SpinGate, Shortage: any thread; Expectation: one thread at a time.
// Ownership: plain data.
//
// Waking a thread costs tens of microseconds. A thread that expects an answer sooner looks for it
// again and again. This needs a core that no other thread needs, least of all the peer.
// So a waiting thread offers its core to others. If they keep it, active waiting ends for a while.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/spin_wait.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// The core of the calling thread, and the core of a peer that has not named its own.
uint32_t currentCore();
inline constexpr uint32_t kUnknownCore = UINT32_MAX;

// How soon something comes, by how soon it has come before.
class Expectation {
 public:
  void note(std::chrono::nanoseconds took);
  // Within tens of microseconds.
  bool isShort() const { return mean_ < kShort; }

 private:
  static constexpr std::chrono::nanoseconds kShort{80'000};
  static constexpr std::chrono::nanoseconds kLongest{250'000};
  std::chrono::nanoseconds mean_ = kLongest;
};

// A period after a thread has lost its core, in which no thread waits actively. The period grows
// while each new attempt loses a core again: an attempt may cost milliseconds.
class Shortage {
 public:
  static constexpr std::chrono::milliseconds kShortest{2};
  static constexpr std::chrono::milliseconds kLongest{64};

  void note(TimePoint now);
  bool lasts(TimePoint now) const;

 private:
  std::atomic<int64_t> end_ = INT64_MIN / 2;  // in nanoseconds of the clock
  std::atomic<int64_t> length_ = 0;           // of the last one, in nanoseconds
};

// Shared by the spinning threads of a process, or of one priority.
class SpinGate {
 public:
  // Looks for `ready()` for a few tens of microseconds. False when it has not become true, or when
  // there is no spare core. False at once when the peer needs the caller's core, or may need the
  // caller's only one, when other threads spin already, or after a shortage of cores.
  // `peerCore()` may change. `start`: now.
  template <typename Ready, typename PeerCore>
  bool spin(TimePoint start, Ready ready, PeerCore peerCore) {
    if (!enter(start, peerCore())) return false;
    SpinWait spin(start, SpinWait::Yielding::REGULARLY);
    bool found = false;
    for (;;) {
      found = ready();
      if (found) break;
      if (!spin.pause()) continue;
      if (spin.gap() > kTakenAway) {
        shortage_.note(spin.now());
        found = ready();
        break;
      }
      if (spin.passed() > kWindow || peerCore() == currentCore()) break;
    }
    spinners_.fetch_sub(1, std::memory_order_relaxed);
    return found;
  }

 private:
  static constexpr std::chrono::microseconds kWindow{50};
  // A thread that has not run for so long has lost its core to another that computes. The threads
  // of the peer take less.
  static constexpr std::chrono::microseconds kTakenAway{150};

  bool enter(TimePoint now, uint32_t peerCore);
  unsigned cores(TimePoint now);

  std::atomic<unsigned> spinners_ = 0;
  std::atomic<unsigned> cores_ = 0;
  std::atomic<int64_t> coresCounted_ = INT64_MIN / 2;  // when, in nanoseconds of the clock
  Shortage shortage_;
};

}  // namespace halyard::hal

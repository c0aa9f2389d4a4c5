// Polls for a peer's answer, and decides whether that is worth a processor.
//
// A wake-up of a thread takes tens of microseconds. A thread that expects an answer sooner polls
// for it. Polling needs a core that no other thread needs, the peer least of all. So a polling
// thread offers its core to other threads. If they keep the core, polling ends for a while.
//
// Thread safety: SpinGate and Shortage: any thread. Expectation and Parting: one thread at a time.
// Ownership: plain data.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/spin_wait.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// The core of the calling thread. kUnknownCore if it is unknown, or if a peer has not named its
// core.
uint32_t currentCore();
inline constexpr uint32_t kUnknownCore = UINT32_MAX;

// Predicts a peer's work before its next packet from its work before earlier packets. Wake-ups do
// not count: where both threads sleep, they take longer than the work, so that no thread would poll
// again.
class Expectation {
 public:
  // `work`: the peer's own measurement, if there is one. `waited`: the time until its packet. A
  // wait that exceeds the work by more than wake-ups counts as a whole: the peer serves others
  // first.
  void note(std::optional<std::chrono::nanoseconds> work, std::chrono::nanoseconds waited);
  // Whether work of at most 80 microseconds is expected.
  bool isShort() const { return mean_ < kShort; }

 private:
  static constexpr std::chrono::nanoseconds kShort{80'000};
  static constexpr std::chrono::nanoseconds kLongest{250'000};
  static constexpr std::chrono::nanoseconds kWakeUps{250'000};
  std::chrono::nanoseconds mean_ = kLongest;
};

// A period after a thread has lost its core, in which no thread polls. The period grows while each
// new attempt loses a core again, because an attempt may cost milliseconds.
class Shortage {
 public:
  static constexpr std::chrono::milliseconds kShortest{2};
  static constexpr std::chrono::milliseconds kLongest{64};

  void note(TimePoint now);
  bool lasts(TimePoint now) const;

 private:
  std::atomic<int64_t> end_ = INT64_MIN / 2;  // in nanoseconds of the clock
  std::atomic<int64_t> length_ = 0;           // of the last period, in nanoseconds
};

// Decides when a thread leaves the core that it shares with its peer. The system keeps two threads
// that wake each other on one core for tens of milliseconds, although another core is free. They
// change places twice for each packet then, where polling would take a fifth of that time. Where
// other threads need the cores, two threads are faster together. So the thread measures, and goes
// back to its peer after a move without effect.
class Parting {
 public:
  enum class Move { NONE, LEAVE, JOIN };

  // The thread's next move. Call it for each answer to the peer. `together`: the peer uses the
  // thread's core. `isQuick`: work and pauses are short, so that a move may pay.
  Move next(TimePoint now, bool together, bool isQuick);

  static constexpr unsigned kAnswers = 16;  // in a row, whose time is measured

 private:
  Move judge(TimePoint now, bool together);

  // The pauses before the next attempt: after a move that was worth it, and the limits of the pause
  // after moves without effect, which doubles.
  static constexpr std::chrono::milliseconds kPause{2};
  static constexpr std::chrono::milliseconds kShortestPause{32};
  static constexpr std::chrono::milliseconds kLongestPause{8000};
  static constexpr unsigned kOfMove = 4;  // answers that a move itself may delay

  unsigned answers_ = 0;                            // together, or since the move
  TimePoint first_;                                 // the first of them that counts
  std::optional<std::chrono::nanoseconds> before_;  // of kAnswers together, while a move is judged
  TimePoint moved_;
  TimePoint due_;                       // the next attempt
  std::chrono::milliseconds pause_{0};  // after the last move without effect
};

// Limits polling for the threads of a process, or of one priority, that share the gate.
class SpinGate {
 public:
  // Polls `ready()` for 100 microseconds, longer while the peer does not name its core, or if it
  // `mustWakeUp` first. Returns whether it became true. Returns false at once when the peer uses
  // the caller's core, or when there is only one core and the peer's is unknown. Also when enough
  // other threads poll already, or after a shortage of cores. `peerCore()` may change. `start`: the
  // current time.
  template <typename Ready, typename PeerCore>
  bool spin(TimePoint start, Ready ready, PeerCore peerCore, bool mustWakeUp = false) {
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
      const uint32_t peer = peerCore();
      const auto window = mustWakeUp || peer == kUnknownCore ? kWindowOfWakeUp : kWindow;
      if (spin.passed() > window || peer == currentCore()) break;
    }
    spinners_.fetch_sub(1, std::memory_order_relaxed);
    return found;
  }

 private:
  static constexpr std::chrono::microseconds kWindow{100};
  // For a peer that sleeps. One that does not name its core moves to another core (Parting), which
  // may sleep.
  static constexpr std::chrono::microseconds kWindowOfWakeUp{300};
  // A thread that has not run for this time has lost its core to a thread that computes. The
  // threads of the peer take less time.
  static constexpr std::chrono::microseconds kTakenAway{150};

  bool enter(TimePoint now, uint32_t peerCore);
  unsigned cores(TimePoint now);

  std::atomic<unsigned> spinners_ = 0;
  std::atomic<unsigned> cores_ = 0;
  std::atomic<int64_t> coresCounted_ = INT64_MIN / 2;  // time, in nanoseconds of the clock
  Shortage shortage_;
};

}  // namespace halyard::hal

// Whether waiting for a peer by looking again and again is worth it, and the looking.
// Thread safety: SpinGate, Shortage: any thread; Expectation: one thread at a time.
// Ownership: plain data.
//
// Waking a thread costs tens of microseconds, so that one who expects an answer sooner had better
// look for it. But whoever looks needs a core that nobody else needs, least of all the peer, who
// may have threads on all of them: the core is offered to others while one looks, and where these
// keep it, looking ends for a while.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/looking.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// The core that the calling thread runs on, and that of a peer who has not said where it is.
uint32_t currentCore();
inline constexpr uint32_t kUnknownCore = UINT32_MAX;

// How soon something comes, by how soon it has come before.
class Expectation {
 public:
  void note(std::chrono::nanoseconds took);
  // Within tens of microseconds.
  bool soon() const { return mean_ < kSoon; }

 private:
  static constexpr std::chrono::nanoseconds kSoon{80'000};
  static constexpr std::chrono::nanoseconds kLongest{250'000};
  std::chrono::nanoseconds mean_ = kLongest;
};

// Whether cores have been short lately: ever longer while trying again finds that they still are,
// for one who tries may lose his core for milliseconds.
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

// What the spinning threads of a process, or of one pool, share.
class SpinGate {
 public:
  // Looks for `ready()` for a few tens of microseconds. False when it has not come true, or when
  // there is no core to spare: at once if the peer needs the caller's, or may need the only one
  // that the caller may use, if others spin already, or if cores have been short lately.
  // `peerCore()` may change. `start`: now.
  template <typename Ready, typename PeerCore>
  bool spin(TimePoint start, Ready ready, PeerCore peerCore) {
    if (!enter(start, peerCore())) return false;
    Looking looking(start, Looking::Manners::OFFERS_PROCESSOR);
    bool found = false;
    for (;;) {
      found = ready();
      if (found) break;
      if (!looking.pause()) continue;
      if (looking.gap() > kTakenAway) {
        shortage_.note(looking.now());
        found = ready();
        break;
      }
      if (looking.passed() > kWindow || peerCore() == currentCore()) break;
    }
    spinners_.fetch_sub(1, std::memory_order_relaxed);
    return found;
  }

 private:
  static constexpr std::chrono::microseconds kWindow{50};
  // A thread that has not run for so long has lost its core to another who computes. The peer's
  // threads, which come and go, take less.
  static constexpr std::chrono::microseconds kTakenAway{150};

  bool enter(TimePoint now, uint32_t peerCore);
  unsigned cores(TimePoint now);

  std::atomic<unsigned> spinners_ = 0;
  std::atomic<unsigned> cores_ = 0;
  std::atomic<int64_t> coresCounted_ = INT64_MIN / 2;  // when, in nanoseconds of the clock
  Shortage shortage_;
};

}  // namespace halyard::hal

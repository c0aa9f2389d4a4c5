// SpinWait: the steps of a thread that polls a value until another thread changes it.
// Thread safety: one thread at a time.
// Ownership: plain data.
//
// Polling finds a change sooner than any wake-up, but keeps a processor busy. The thread that makes
// the change may be waiting for that processor. Polling can therefore offer the processor to other
// threads every few times. An offer takes a tenth of a microsecond if no thread wants the
// processor. Otherwise it may take a whole time slice of the other thread: milliseconds.
#pragma once

#include <sched.h>

#include <chrono>

namespace halyard {

class SpinWait {
 public:
  using Clock = std::chrono::steady_clock;

  // Whether the thread offers its processor to others while it polls.
  enum class Yielding { NEVER, REGULARLY };

  SpinWait(Clock::time_point start, Yielding yielding)
      : start_(start), yields_(yielding == Yielding::REGULARLY), now_(start) {}

  // The thread calls this after each poll. Every few calls it returns true; `now` and `gap` are
  // then new.
  bool pause() {
    pauseBriefly();
    if (++polls_ % kPollsPerReading != 0) return false;
    if (yields_) ::sched_yield();
    const Clock::time_point last = now_;
    now_ = Clock::now();
    gap_ = now_ - last;
    return true;
  }
  // Polls until `isThere`, or for as long as most answers of another process take. If the processor
  // goes to sleep, a wake-up takes longer than the answer itself.
  template <typename Predicate>
  static void forAnswer(const Predicate& isThere) {
    SpinWait spin(Clock::now(), Yielding::REGULARLY);
    while (!isThere() && spin.passed() < kAnswer) spin.pause();
  }

  Clock::time_point now() const { return now_; }
  // The time between the last two readings. It is long when another thread has had the processor.
  Clock::duration gap() const { return gap_; }
  // The time since the start.
  Clock::duration passed() const { return now_ - start_; }

 private:
  static constexpr unsigned kPollsPerReading = 8;
  static constexpr std::chrono::microseconds kAnswer{300};

  static void pauseBriefly() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  const Clock::time_point start_;
  const bool yields_;
  Clock::time_point now_;
  Clock::duration gap_{};
  unsigned polls_ = 0;
};

}  // namespace halyard

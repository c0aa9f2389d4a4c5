// Looking: what a thread does between two looks at what another thread is about to change.
// Thread safety: one thread at a time. Ownership: plain data.
//
// Looking again and again finds a change sooner than any way of being woken, but takes a processor,
// which whoever makes the change may be waiting for. So it can be offered to other threads every
// few looks. That takes a tenth of a microsecond where nobody wants it, and where somebody does,
// may take as long as the scheduler gives him at once: milliseconds.
#pragma once

#include <sched.h>

#include <chrono>

namespace halyard {

class Looking {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Manners { KEEPS_PROCESSOR, OFFERS_PROCESSOR };

  Looking(Clock::time_point start, Manners manners)
      : start_(start), offers_(manners == Manners::OFFERS_PROCESSOR), now_(start) {}

  // To be called after each look. True every few times, when `now` and `gap` are new.
  bool pause() {
    pauseBriefly();
    if (++looks_ % kLooksPerReading != 0) return false;
    if (offers_) ::sched_yield();
    const Clock::time_point last = now_;
    now_ = Clock::now();
    gap_ = now_ - last;
    return true;
  }
  // Until `isThere`, or for as long as most answers of another process take: being woken would add
  // to that, where the processor goes to sleep, too, more than the answer itself.
  template <typename Predicate>
  static void forAnswer(const Predicate& isThere) {
    Looking looking(Clock::now(), Manners::OFFERS_PROCESSOR);
    while (!isThere() && looking.passed() < kAnswer) looking.pause();
  }

  Clock::time_point now() const { return now_; }
  // Between the last two times: long when another thread has had the processor.
  Clock::duration gap() const { return gap_; }
  // For how long it has been going on.
  Clock::duration passed() const { return now_ - start_; }

 private:
  static constexpr unsigned kLooksPerReading = 8;
  static constexpr std::chrono::microseconds kAnswer{300};

  static void pauseBriefly() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  const Clock::time_point start_;
  const bool offers_;
  Clock::time_point now_;
  Clock::duration gap_{};
  unsigned looks_ = 0;
};

}  // namespace halyard

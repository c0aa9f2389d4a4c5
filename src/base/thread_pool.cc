// ThreadPool: workers sleep on a condition variable. Each thread has a part of the loop, the same
// one in loops of the same length, so that it finds in its cache what it has written there; who is
// done with his own takes from the others'.
#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/looking.h"
#include "base/processors.h"
#include "base/work_limit.h"

namespace halyard {
namespace {

// What is left of a part is taken in so many ranges or more, which become smaller to its end: a
// thread that is late or slow does not hold up the loop.
constexpr uint32_t kRangesOfRest = 4;
// Whoever has waited longer for a processor has waited for another thread: being woken, and letting
// somebody in who needs the processor for a moment, take less.
constexpr std::chrono::microseconds kLate{200};

using Clock = std::chrono::steady_clock;

// Part of a loop, in units of some iterations, which its owner takes from the front and others from
// the back. On a cache line of its own.
class alignas(64) LoopPart {
 public:
  struct Units {
    uint32_t begin;
    uint32_t end;  // none are left where it is not beyond
  };

  void set(Units units) { units_.store(packed(units), std::memory_order_relaxed); }
  // Some of what is left; nothing where nothing is.
  std::optional<Units> take(bool fromFront) {
    uint64_t seen = units_.load(std::memory_order_relaxed);
    for (;;) {
      const Units left = {static_cast<uint32_t>(seen), static_cast<uint32_t>(seen >> 32)};
      if (left.begin >= left.end) return std::nullopt;
      const uint32_t count = std::max((left.end - left.begin) / kRangesOfRest, 1u);
      const uint32_t cut = fromFront ? left.begin + count : left.end - count;
      const Units mine = fromFront ? Units{left.begin, cut} : Units{cut, left.end};
      const Units rest = fromFront ? Units{cut, left.end} : Units{left.begin, cut};
      if (units_.compare_exchange_weak(seen, packed(rest), std::memory_order_relaxed)) return mine;
    }
  }

 private:
  static uint64_t packed(Units units) { return uint64_t{units.end} << 32 | units.begin; }

  std::atomic<uint64_t> units_{0};
};

// Signals that a thread of a library should leave to the application's threads: all but those that
// a fault of the thread itself raises, and the profiler's.
sigset_t signalsOfTheApplication() {
  sigset_t set;
  sigfillset(&set);
  for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) {
    sigdelset(&set, own);
  }
  return set;
}

}  // namespace

struct ThreadPool::State {
  // One parallelFor call, on its caller's stack.
  struct Loop {
    const std::function<void(size_t, size_t)>& body;
    size_t count;
    size_t unit;  // iterations
    size_t grain;
    const WorkLimit* limit;  // the caller's
    std::span<LoopPart> parts;
    std::atomic<bool> outOfMemory{false};
    std::atomic<bool> abandoned{false};

    void divide() {
      const uint64_t units = (count - 1) / unit + 1;
      uint64_t begin = 0;
      for (size_t i = 0; i < parts.size(); ++i) {
        const uint64_t end = units * (i + 1) / parts.size();
        parts[i].set({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
        begin = end;
      }
    }
    // Of part `own`, then of the next ones.
    std::optional<LoopPart::Units> take(size_t own) {
      for (size_t i = 0; i < parts.size(); ++i) {
        if (const auto units = parts[(own + i) % parts.size()].take(i == 0)) return units;
      }
      return std::nullopt;
    }
    void leaveOutTheRest() {
      for (LoopPart& part : parts) part.set({});
    }

    void work(size_t own) {
      const WorkLimitScope scope(limit);
      // A body may run out of memory, the one failure that the standard library throws; in a worker
      // it must not end the process, so the caller's thread throws it again. The same goes for work
      // that is not wanted any more.
      try {
        while (const auto units = take(own)) {
          forEachChunk(units->begin * unit, std::min(units->end * unit, count), grain, body);
        }
      } catch (const std::bad_alloc&) {
        outOfMemory.store(true, std::memory_order_relaxed);
        leaveOutTheRest();
      } catch (const WorkAbandoned&) {
        abandoned.store(true, std::memory_order_relaxed);
        leaveOutTheRest();
      }
    }
  };

  State(unsigned threadCount, ThreadClass theClass, std::chrono::microseconds thePatience)
      : threads(threadCount), threadClass(theClass), patience(thePatience), parts(threadCount) {}

  // Starts the workers; fewer than wanted when the system gives no more.
  void start();
  void runWorker(size_t number);
  // Returns when there is a place in a loop, or false when the pool is stopping. With the lock.
  bool awaitLoop(std::unique_lock<std::mutex>& lock);
  // Returns when there may be something to do, or the patience has come to its end.
  void lookOut();
  // Returns when no worker is in a loop, or the patience has come to its end.
  void awaitIdle() const;
  // Whether the calling worker has the processor of the thread that it helps. The scheduler may put
  // a thread that is woken beside the one that wakes it, and leave it there for longer than an
  // execution takes. But not too often, for it may know better.
  bool isInTheWay(Clock::time_point now) const;
  // By which a worker came late to where it was wanted.
  void noteDelay(Clock::duration delay);
  // Runs `loop` in this thread and in up to `helpers` workers.
  void run(Loop& loop, size_t helpers);

  const unsigned threads;  // the calling thread included
  const ThreadClass threadClass;
  const std::chrono::microseconds patience;
  std::atomic<bool> busy{false};  // held by the caller whose loop has the workers

  std::vector<pthread_t> workers;  // changed only under `busy`
  bool started = false;            // likewise
  std::vector<LoopPart> parts;  // of the loop that has the workers, by thread: the caller's first

  std::mutex mutex;
  std::condition_variable wake;      // a loop has places, or stopping
  std::condition_variable finished;  // active became 0
  Loop* loop = nullptr;
  // These change under the mutex only; who looks out reads them without.
  std::atomic<size_t> places{0};  // how many more workers may join the loop
  std::atomic<size_t> active{0};  // how many are in it
  std::atomic<bool> stopping{false};
  std::atomic<int> callersProcessor{-1};  // of the last loop
  std::atomic<uint64_t> loops{0};         // that workers were wanted for, so far
  size_t sleeping = 0;                    // workers that need to be woken
  // When the first of them was, and has not come yet.
  std::optional<Clock::time_point> called;
  std::atomic<int64_t> delayed{0};  // of all workers, in nanoseconds
  std::atomic<size_t> numbers{0};   // given to workers
};

void ThreadPool::State::start() {
  started = true;
  const sigset_t blocked = signalsOfTheApplication();
  sigset_t previous;
  pthread_sigmask(SIG_BLOCK, &blocked, &previous);
  for (unsigned i = 1; i < threads; ++i) {
    pthread_t worker;
    const int error = pthread_create(
        &worker, nullptr,
        [](void* self) -> void* {
          auto* const state = static_cast<State*>(self);
          enterThreadClass(state->threadClass);
          state->runWorker(state->numbers.fetch_add(1, std::memory_order_relaxed) + 1);
          return nullptr;
        },
        this);
    if (error != 0) break;
    pthread_setname_np(worker, "halyard-worker");
    workers.push_back(worker);
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

void ThreadPool::State::lookOut() {
  Looking looking(Clock::now(), Looking::Manners::OFFERS_PROCESSOR);
  uint64_t seen = loops.load(std::memory_order_relaxed);
  while (places.load(std::memory_order_relaxed) == 0 && !stopping.load(std::memory_order_relaxed)) {
    if (!looking.pause()) continue;
    // Who has been away while nobody wanted him has not been late.
    const uint64_t now = loops.load(std::memory_order_relaxed);
    if (now != std::exchange(seen, now)) noteDelay(looking.gap());
    if (isInTheWay(looking.now())) leaveProcessor();
    if (looking.passed() >= patience) return;
  }
}

bool ThreadPool::State::isInTheWay(Clock::time_point now) const {
  constexpr std::chrono::milliseconds kSeldom{1};
  thread_local Clock::time_point last{};
  if (callersProcessor.load(std::memory_order_relaxed) != ::sched_getcpu()) return false;
  if (now - last < kSeldom) return false;
  last = now;
  return true;
}

void ThreadPool::State::awaitIdle() const {
  // The processor is kept: the caller's time is what all this is about.
  Looking looking(Clock::now(), Looking::Manners::KEEPS_PROCESSOR);
  while (active.load(std::memory_order_relaxed) > 0) {
    if (looking.pause() && looking.passed() >= patience) return;
  }
}

void ThreadPool::State::noteDelay(Clock::duration delay) {
  if (delay < kLate) return;
  delayed.fetch_add(delay / std::chrono::nanoseconds(1), std::memory_order_relaxed);
}

bool ThreadPool::State::awaitLoop(std::unique_lock<std::mutex>& lock) {
  if (places == 0 && !stopping && patience.count() > 0) {
    lock.unlock();
    lookOut();
    lock.lock();
  }
  ++sleeping;
  while (!stopping && places == 0) {
    wake.wait(lock);
    const Clock::time_point now = Clock::now();
    if (called) noteDelay(now - *called);
    called.reset();
    if (!isInTheWay(now)) continue;
    --sleeping;
    lock.unlock();
    leaveProcessor();
    lock.lock();
    ++sleeping;
  }
  --sleeping;
  return !stopping;
}

void ThreadPool::State::runWorker(size_t number) {
  std::unique_lock<std::mutex> lock(mutex);
  while (awaitLoop(lock)) {
    --places;
    ++active;
    Loop* mine = loop;
    lock.unlock();
    mine->work(number);
    lock.lock();
    if (--active == 0) finished.notify_one();
  }
}

void ThreadPool::State::run(Loop& mine, size_t helpers) {
  size_t toWake = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    loop = &mine;
    callersProcessor.store(::sched_getcpu(), std::memory_order_relaxed);
    loops.store(loops.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    places = helpers;
    // Those that look out come by themselves.
    toWake = std::min(helpers, sleeping);
    if (toWake > 0 && !called) called = Clock::now();
  }
  for (size_t i = 0; i < toWake; ++i) wake.notify_one();
  mine.work(0);
  std::unique_lock<std::mutex> lock(mutex);
  // Workers that have not woken yet are not waited for.
  places = 0;
  if (patience.count() > 0 && active > 0) {
    // The last ranges end soon.
    lock.unlock();
    awaitIdle();
    lock.lock();
  }
  finished.wait(lock, [&] { return active == 0; });
  loop = nullptr;
}

ThreadPool::ThreadPool(unsigned threads, ThreadClass threadClass,
                       std::chrono::microseconds patience)
    : state_(std::make_unique<State>(threads == 0 ? usableProcessors() : threads, threadClass,
                                     patience)) {}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->stopping = true;
  }
  state_->wake.notify_all();
  for (pthread_t worker : state_->workers) pthread_join(worker, nullptr);
}

unsigned ThreadPool::threads() const { return state_->threads; }

std::chrono::nanoseconds ThreadPool::delay() const {
  return std::chrono::nanoseconds(state_->delayed.load(std::memory_order_relaxed));
}

void ThreadPool::parallelFor(size_t count, size_t grain,
                             const std::function<void(size_t begin, size_t end)>& body) {
  if (count == 0) return;
  grain = std::max<size_t>(grain, 1);
  // A nested call finds the pool busy as well: its thread would otherwise wait for itself.
  if (state_->threads == 1 || count <= grain ||
      state_->busy.exchange(true, std::memory_order_acquire)) {
    forEachChunk(0, count, grain, body);
    return;
  }
  if (!state_->started) state_->start();
  // Units are counted in 32 bits.
  const size_t unit = std::max(grain, count / std::numeric_limits<int32_t>::max() + 1);
  State::Loop loop{body, count, unit, grain, currentWorkLimit(), state_->parts};
  loop.divide();
  state_->run(loop, std::min(state_->workers.size(), (count - 1) / unit));
  state_->busy.store(false, std::memory_order_release);
  // The end of the loop has made the workers' stores visible.
  if (loop.outOfMemory.load(std::memory_order_relaxed)) throw std::bad_alloc();
  if (loop.abandoned.load(std::memory_order_relaxed)) throw WorkAbandoned();
}

}  // namespace halyard

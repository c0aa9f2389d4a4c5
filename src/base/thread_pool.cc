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
#include <vector>

#include "base/work_limit.h"

namespace halyard {
namespace {

// What is left of a part is taken in so many ranges or more, which become smaller to its end: a
// thread that is late or slow does not hold up the loop.
constexpr uint32_t kRangesOfRest = 4;

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

unsigned usableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails on machines with more processors than cpu_set_t has room for.
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

// Between two looks at what another thread may change.
void pauseBriefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

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
  // Returns when there may be something to do, or the patience has come to its end.
  void lookOut() const;
  // Returns when no worker is in a loop, or the patience has come to its end.
  void awaitIdle() const;
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
  size_t sleeping = 0;             // workers that need to be woken
  std::atomic<size_t> numbers{0};  // given to workers
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

void ThreadPool::State::lookOut() const {
  using Clock = std::chrono::steady_clock;
  constexpr int kLooksPerReading = 32;  // of the clock
  const Clock::time_point end = Clock::now() + patience;
  do {
    for (int i = 0; i < kLooksPerReading; ++i) {
      if (places.load(std::memory_order_relaxed) > 0 || stopping.load(std::memory_order_relaxed)) {
        return;
      }
      pauseBriefly();
    }
  } while (Clock::now() < end);
}

void ThreadPool::State::awaitIdle() const {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (active.load(std::memory_order_relaxed) > 0) {
    pauseBriefly();
    if (std::chrono::steady_clock::now() >= end) return;
  }
}

void ThreadPool::State::runWorker(size_t number) {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    if (places == 0 && !stopping && patience.count() > 0) {
      lock.unlock();
      lookOut();
      lock.lock();
    }
    ++sleeping;
    wake.wait(lock, [&] { return stopping || places > 0; });
    --sleeping;
    if (stopping) return;
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
    places = helpers;
    // Those that look out come by themselves.
    toWake = std::min(helpers, sleeping);
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

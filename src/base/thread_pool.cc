// ThreadPool: workers sleep on a condition variable; ranges are handed out by one atomic counter.
#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "base/work_limit.h"

namespace halyard {
namespace {

// More ranges than threads, so that a thread that is late or slow does not hold up the loop.
constexpr size_t kRangesPerThread = 4;

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
    size_t step;
    size_t ranges;
    size_t grain;
    const WorkLimit* limit;       // the caller's
    std::atomic<size_t> next{0};  // range
    std::atomic<bool> outOfMemory{false};
    std::atomic<bool> abandoned{false};

    void work() {
      const WorkLimitScope scope(limit);
      // A body may run out of memory, the one failure that the standard library throws; in a worker
      // it must not end the process, so the caller's thread throws it again. The same goes for work
      // that is not wanted any more.
      try {
        for (;;) {
          const size_t range = next.fetch_add(1, std::memory_order_relaxed);
          if (range >= ranges) return;
          const size_t begin = range * step;
          forEachChunk(begin, begin + std::min(step, count - begin), grain, body);
        }
      } catch (const std::bad_alloc&) {
        outOfMemory.store(true, std::memory_order_relaxed);
        next.store(ranges, std::memory_order_relaxed);
      } catch (const WorkAbandoned&) {
        abandoned.store(true, std::memory_order_relaxed);
        next.store(ranges, std::memory_order_relaxed);
      }
    }
  };

  State(unsigned threadCount, ThreadClass theClass, std::chrono::microseconds thePatience)
      : threads(threadCount), threadClass(theClass), patience(thePatience) {}

  // Starts the workers; fewer than wanted when the system gives no more.
  void start();
  void runWorker();
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

  std::mutex mutex;
  std::condition_variable wake;      // a loop has places, or stopping
  std::condition_variable finished;  // active became 0
  Loop* loop = nullptr;
  // These change under the mutex only; who looks out reads them without.
  std::atomic<size_t> places{0};  // how many more workers may join the loop
  std::atomic<size_t> active{0};  // how many are in it
  std::atomic<bool> stopping{false};
  size_t sleeping = 0;  // workers that need to be woken
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
          state->runWorker();
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

void ThreadPool::State::runWorker() {
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
    mine->work();
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
  mine.work();
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
  const size_t evenly = (count - 1) / (state_->threads * kRangesPerThread) + 1;
  const size_t step = std::max(grain, evenly);
  State::Loop loop{body, count, step, (count - 1) / step + 1, grain, currentWorkLimit()};
  state_->run(loop, std::min(state_->workers.size(), loop.ranges - 1));
  state_->busy.store(false, std::memory_order_release);
  // The end of the loop has made the workers' stores visible.
  if (loop.outOfMemory.load(std::memory_order_relaxed)) throw std::bad_alloc();
  if (loop.abandoned.load(std::memory_order_relaxed)) throw WorkAbandoned();
}

}  // namespace halyard

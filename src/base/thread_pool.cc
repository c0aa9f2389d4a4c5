// ThreadPool. One word holds the number of workers that may still join the loop and of those in it.
// Workers join and leave by changing the word. They sleep on a condition variable when there has
// been no loop for a while. Only threads that sleep or wake others take a lock, because loops of
// small models take a few microseconds. Each thread has a part of the loop. It gets the same part
// in loops of the same length, so that its cache still holds the data that it wrote. A thread that
// has finished its own part takes ranges from the others' parts.
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

#include "base/processors.h"
#include "base/spin_wait.h"
#include "base/work_limit.h"

namespace halyard {
namespace {

// The rest of a part is taken in at least this number of ranges. The ranges become smaller towards
// its end, so that a late or slow thread does not delay the loop.
constexpr uint32_t kRangesOfRest = 4;
// A longer wait for a processor means that another thread was running. A wake-up takes less, and so
// does a short interruption by another thread.
constexpr std::chrono::microseconds kLate{200};

using Clock = std::chrono::steady_clock;

// Part of a loop, in units of some iterations. Its owner takes units from the front, or from the
// back in a backward loop, and other threads from the other side. Each part has its own cache line.
class alignas(64) LoopPart {
 public:
  struct Units {
    uint32_t begin;
    uint32_t end;  // the part is empty if this is not above `begin`
  };

  void set(Units units) { units_.store(packed(units), std::memory_order_relaxed); }
  // Takes some of the remaining units; nullopt if the part is empty.
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

// The free places of a loop, and the number of workers in it.
class Membership {
 public:
  // Only called when no worker is in a loop. A worker that joins sees what the caller wrote before.
  void open(size_t places) { word_.store(places << kPlacesShift, std::memory_order_seq_cst); }
  bool isOpen() const { return word_.load(std::memory_order_seq_cst) >> kPlacesShift != 0; }
  bool isEmpty() const { return (word_.load(std::memory_order_seq_cst) & kActiveMask) == 0; }
  // Returns false if there is no free place.
  bool join() {
    uint64_t seen = word_.load(std::memory_order_relaxed);
    while (seen >> kPlacesShift != 0) {
      const uint64_t joined = seen - (uint64_t{1} << kPlacesShift) + 1;
      if (word_.compare_exchange_weak(seen, joined, std::memory_order_acquire)) return true;
    }
    return false;
  }
  // Returns true for the last worker. Its writes are visible to a thread that finds the loop empty.
  // After this call the worker must not touch the loop any more.
  bool leave() { return (word_.fetch_sub(1, std::memory_order_seq_cst) & kActiveMask) == 1; }
  // No worker can join after this call.
  void close() { word_.fetch_and(kActiveMask, std::memory_order_relaxed); }

 private:
  static constexpr int kPlacesShift = 32;
  static constexpr uint64_t kActiveMask = 0xffff'ffff;

  std::atomic<uint64_t> word_{0};
};

// The signals that a library's thread should leave to the application's threads. These are all
// except the profiler's and those for faults of the thread itself.
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
    size_t unit;  // in iterations
    size_t grain;
    LoopOrder order;
    const WorkLimit* limit;  // the caller's limit
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
    // Takes units of part `own`, then of the following parts.
    std::optional<LoopPart::Units> take(size_t own) {
      for (size_t i = 0; i < parts.size(); ++i) {
        const bool fromFront = (i == 0) == (order == LoopOrder::FORWARD);
        if (const auto units = parts[(own + i) % parts.size()].take(fromFront)) return units;
      }
      return std::nullopt;
    }
    void leaveOutTheRest() {
      for (LoopPart& part : parts) part.set({});
    }

    void work(size_t own) {
      const WorkLimitScope scope(limit);
      // A body may run out of memory, the only failure that the standard library throws. It must
      // not end the process in a worker, so the caller's thread throws it again. The same applies
      // to abandoned work.
      try {
        ChunkedLoop ranges(grain, body, order);
        while (const auto units = take(own)) {
          ranges.run(units->begin * unit, std::min(units->end * unit, count));
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

  // Starts the workers, or fewer if the system refuses more threads.
  void start();
  void runWorker(size_t number);
  // Returns true after the worker has joined a loop, or false when the pool is stopping.
  bool awaitLoop();
  // Polls for a loop. Returns whether the worker has joined one before the patience ends.
  bool lookOut();
  // Returns when a loop could be joined, or when the pool is stopping.
  void sleepUntilCalled();
  // Returns when no worker is in a loop, or when the patience ends.
  void awaitIdle() const;
  // Returns whether the calling worker runs on the processor of the thread that it helps. The
  // scheduler may put a woken thread on the processor of its waker, and leave it there for longer
  // than an execution. The answer is rarely true, because the scheduler may have good reasons.
  bool isInTheWay(Clock::time_point now) const;
  // Adds a delay with which a worker started.
  void noteDelay(Clock::duration delay);
  // Wakes this number of sleeping workers.
  void call(size_t helpers);
  // Runs `loop` in this thread and in up to `helpers` workers.
  void run(Loop& loop, size_t helpers);

  const unsigned threads;  // including the calling thread
  const ThreadClass threadClass;
  const std::chrono::microseconds patience;
  std::atomic<bool> busy{false};  // held by the caller whose loop uses the workers

  std::vector<pthread_t> workers;  // changed only under `busy`
  bool started = false;            // changed only under `busy`
  std::vector<LoopPart> parts;     // of the current loop, by thread: the caller's first

  // Polling threads read these members all the time. So they change rarely, have cache lines of
  // their own and are written last.
  alignas(64) Membership membership;
  alignas(64) Loop* loop = nullptr;       // changes only while no worker can join
  std::atomic<int> callersProcessor{-1};  // processor of the last loop's caller
  std::atomic<uint64_t> loops{0};         // number of loops so far that wanted workers

  alignas(64) std::atomic<bool> stopping{false};
  std::atomic<size_t> sleeping{0};          // workers that need a wake-up
  std::atomic<bool> callerSleeps{false};    // the caller waits until the loop is empty
  std::atomic<int64_t> delayed{0};          // of all workers, in nanoseconds
  std::atomic<size_t> numbers{0};           // assigned to workers so far
  std::mutex mutex;                         // for sleeping threads
  std::condition_variable wake;             // a loop has free places, or stopping
  std::condition_variable finished;         // the last worker has left
  std::optional<Clock::time_point> called;  // time of the first wake-up without a started worker
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

bool ThreadPool::State::lookOut() {
  SpinWait spin(Clock::now(), SpinWait::Yielding::REGULARLY);
  uint64_t seen = loops.load(std::memory_order_relaxed);
  while (!stopping.load(std::memory_order_relaxed)) {
    if (membership.isOpen() && membership.join()) return true;
    if (!spin.pause()) continue;
    // A gap without a new loop is no delay.
    const uint64_t now = loops.load(std::memory_order_relaxed);
    if (now != std::exchange(seen, now)) noteDelay(spin.gap());
    if (isInTheWay(spin.now())) leaveProcessor();
    if (spin.passed() >= patience) return false;
  }
  return false;
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
  // This thread keeps the processor, because the caller's time matters most.
  SpinWait spin(Clock::now(), SpinWait::Yielding::NEVER);
  while (!membership.isEmpty()) {
    if (spin.pause() && spin.passed() >= patience) return;
  }
}

void ThreadPool::State::noteDelay(Clock::duration delay) {
  if (delay < kLate) return;
  delayed.fetch_add(delay / std::chrono::nanoseconds(1), std::memory_order_relaxed);
}

bool ThreadPool::State::awaitLoop() {
  while (!stopping.load(std::memory_order_relaxed)) {
    if (membership.join()) return true;
    if (patience.count() > 0 && lookOut()) return true;
    sleepUntilCalled();
  }
  return false;
}

void ThreadPool::State::sleepUntilCalled() {
  std::unique_lock<std::mutex> lock(mutex);
  // Either the caller of the next loop sees the additional sleeper, or this thread sees that loop.
  sleeping.fetch_add(1, std::memory_order_seq_cst);
  while (!stopping && !membership.isOpen()) {
    wake.wait(lock);
    const Clock::time_point now = Clock::now();
    if (called) noteDelay(now - *called);
    called.reset();
    if (!isInTheWay(now)) continue;
    sleeping.fetch_sub(1, std::memory_order_relaxed);
    lock.unlock();
    leaveProcessor();
    lock.lock();
    sleeping.fetch_add(1, std::memory_order_seq_cst);
  }
  sleeping.fetch_sub(1, std::memory_order_relaxed);
}

void ThreadPool::State::runWorker(size_t number) {
  while (awaitLoop()) {
    loop->work(number);
    if (!membership.leave() || !callerSleeps.load(std::memory_order_seq_cst)) continue;
    const std::lock_guard<std::mutex> lock(mutex);
    finished.notify_one();
  }
}

void ThreadPool::State::call(size_t helpers) {
  size_t toWake = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    toWake = std::min(helpers, sleeping.load(std::memory_order_relaxed));
    if (toWake > 0 && !called) called = Clock::now();
  }
  for (size_t i = 0; i < toWake; ++i) wake.notify_one();
}

void ThreadPool::State::run(Loop& mine, size_t helpers) {
  loop = &mine;
  callersProcessor.store(::sched_getcpu(), std::memory_order_relaxed);
  loops.store(loops.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  membership.open(helpers);
  // Polling workers join without a wake-up.
  if (sleeping.load(std::memory_order_seq_cst) > 0) call(helpers);
  mine.work(0);
  // The caller does not wait for workers that have not woken yet.
  membership.close();
  if (membership.isEmpty()) return;
  // The last ranges end soon.
  if (patience.count() > 0) awaitIdle();
  if (membership.isEmpty()) return;
  std::unique_lock<std::mutex> lock(mutex);
  callerSleeps.store(true, std::memory_order_seq_cst);
  finished.wait(lock, [&] { return membership.isEmpty(); });
  callerSleeps.store(false, std::memory_order_relaxed);
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
                             const std::function<void(size_t begin, size_t end)>& body,
                             LoopOrder order) {
  if (count == 0) return;
  grain = std::max<size_t>(grain, 1);
  // For a nested call the pool is busy as well. Otherwise its thread would wait for itself.
  if (state_->threads == 1 || count <= grain ||
      state_->busy.exchange(true, std::memory_order_acquire)) {
    forEachChunk(0, count, grain, body, order);
    return;
  }
  if (!state_->started) state_->start();
  // Units are counted in 32 bits.
  const size_t unit = std::max(grain, count / std::numeric_limits<int32_t>::max() + 1);
  State::Loop loop{body, count, unit, grain, order, currentWorkLimit(), state_->parts};
  loop.divide();
  state_->run(loop, std::min(state_->workers.size(), (count - 1) / unit));
  state_->busy.store(false, std::memory_order_release);
  // The end of the loop has made the workers' writes visible.
  if (loop.outOfMemory.load(std::memory_order_relaxed)) throw std::bad_alloc();
  if (loop.abandoned.load(std::memory_order_relaxed)) throw WorkAbandoned();
}

}  // namespace halyard

#include "hal/server/worker_threads.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace halyard::hal {
namespace {

using Job = std::function<void()>;
using std::chrono::steady_clock;

constexpr size_t kClasses = 3;
// How often the lowest class goes first, so that it is served at all.
constexpr uint64_t kTurnsOfLowest = 8;
// After this without work a thread that was added ends.
constexpr std::chrono::seconds kIdleLimit{2};

}  // namespace

class WorkerThreads::Lane {
 public:
  explicit Lane(const LaneLimits& theLimits) : limits(theLimits) {}

  bool starving() const { return queued > 0 && running == 0; }

  // All under the mutex of the State.
  const LaneLimits limits;
  std::array<std::deque<Job>, kClasses> jobs;  // by priority
  size_t queued = 0;
  unsigned running = 0;
  bool closed = false;
  bool listed = false;                    // in State::waiting
  steady_clock::time_point starvesSince;  // valid while starving
};

struct WorkerThreads::State {
  using LanePtr = std::shared_ptr<Lane>;
  struct Worker {
    std::thread thread;
    bool ended = false;
  };

  std::mutex mutex;
  std::condition_variable work;       // for idle threads
  std::condition_variable rescues;    // for idle threads that were added
  std::condition_variable supervise;  // for the thread that adds others
  std::condition_variable rest;       // for drain
  std::list<LanePtr> waiting;         // lanes with queued jobs, in the order of their turns
  std::list<Worker> workers;
  std::thread supervisor;
  ThreadClass threadClass = ThreadClass::NORMAL;
  size_t baseThreads = 0;
  size_t mostThreads = 0;
  size_t alive = 0;
  size_t idle = 0;  // without those that were added
  size_t idleAdded = 0;
  size_t queued = 0;
  unsigned running = 0;
  uint64_t turn = 0;
  bool stopping = false;

  static bool ready(const Lane& lane) {
    return lane.queued > 0 && lane.running < lane.limits.running;
  }

  // The lane and class whose turn it is.
  std::pair<LanePtr, size_t> choose() const {
    const bool lowestFirst = turn % kTurnsOfLowest == kTurnsOfLowest - 1;
    for (size_t i = 0; i < kClasses; ++i) {
      const size_t rank = lowestFirst ? i : kClasses - 1 - i;
      LanePtr best;
      for (const LanePtr& lane : waiting) {
        if (!ready(*lane) || lane->jobs[rank].empty()) continue;
        if (best == nullptr || lane->running < best->running) best = lane;
      }
      if (best != nullptr) return {best, rank};
    }
    return {};
  }

  // The same for a thread that was added: it is there for lanes that starve, and nothing else.
  std::pair<LanePtr, size_t> chooseStarving() const {
    LanePtr best;
    for (const LanePtr& lane : waiting) {
      if (lane->starving() && (best == nullptr || lane->starvesSince < best->starvesSince)) {
        best = lane;
      }
    }
    if (best == nullptr) return {};
    size_t rank = kClasses - 1;
    while (best->jobs[rank].empty()) --rank;
    return {best, rank};
  }

  Job take(const LanePtr& lane, size_t rank) {
    ++turn;
    Job job = std::move(lane->jobs[rank].front());
    lane->jobs[rank].pop_front();
    --queued;
    --lane->queued;
    ++lane->running;
    ++running;
    const auto place = std::find(waiting.begin(), waiting.end(), lane);
    if (lane->queued == 0) {
      waiting.erase(place);
      lane->listed = false;
    } else {
      waiting.splice(waiting.end(), waiting, place);  // behind the others
    }
    return job;
  }

  // Whom to notify of a job, without the lock: who woke under it would only wait for it.
  struct Wakes {
    bool worker = false;
    bool supervisor = false;
  };

  Wakes put(const LanePtr& lane, size_t rank, Job job) {
    lane->jobs[rank].push_back(std::move(job));
    if (lane->queued++ == 0 && lane->running == 0) lane->starvesSince = steady_clock::now();
    if (!lane->listed) {
      waiting.push_back(lane);
      lane->listed = true;
    }
    ++queued;
    return {idle > 0, lane->starving() && queued > idle};
  }

  void finished(Lane& lane) {
    --running;
    if (--lane.running == 0 && lane.queued > 0) {
      lane.starvesSince = steady_clock::now();
      supervise.notify_one();
    }
    if (running == 0) rest.notify_all();
  }

  void run(std::list<Worker>::iterator self, bool added) {
    std::unique_lock lock(mutex);
    while (!stopping) {
      const auto [lane, rank] = added ? chooseStarving() : choose();
      if (lane == nullptr && added) {
        ++idleAdded;
        const bool late = rescues.wait_for(lock, kIdleLimit) == std::cv_status::timeout;
        --idleAdded;
        if (late && chooseStarving().first == nullptr) break;
        continue;
      }
      if (lane == nullptr) {
        ++idle;
        work.wait(lock);
        --idle;
        continue;
      }
      Job job = take(lane, rank);
      lock.unlock();
      job();
      job = nullptr;  // what it holds is let go of here, not under the lock
      lock.lock();
      finished(*lane);
    }
    --alive;
    self->ended = true;
    supervise.notify_one();
  }

  // False when there is no thread to be had.
  bool add(bool added) {
    workers.emplace_back();
    const auto self = std::prev(workers.end());
    ++alive;
    try {
      self->thread = std::thread([this, self, added] {
        ::pthread_setname_np(::pthread_self(), "halyard-worker");
        enterThreadClass(threadClass);
        run(self, added);
      });
    } catch (const std::system_error&) {
      --alive;
      workers.pop_back();
      return false;
    }
    return true;
  }

  void joinEnded(std::unique_lock<std::mutex>& lock) {
    std::list<Worker> ended;
    for (auto it = workers.begin(); it != workers.end();) {
      const auto next = std::next(it);
      if (it->ended) ended.splice(ended.end(), workers, it);
      it = next;
    }
    if (ended.empty()) return;
    lock.unlock();
    for (Worker& worker : ended) worker.thread.join();
    lock.lock();
  }

  // Adds threads for the lanes that have waited enough; returns when to look again.
  std::optional<steady_clock::time_point> rescue() {
    const auto now = steady_clock::now();
    std::optional<steady_clock::time_point> next;
    size_t overdue = 0;
    for (const LanePtr& lane : waiting) {
      if (!lane->starving()) continue;
      // After being overdue it is looked at again when a thread has had the time to get there.
      const auto due = lane->starvesSince + kPatience;
      if (due <= now) ++overdue;
      next = std::min(next.value_or(due), due);
    }
    if (overdue > 0) rescues.notify_all();
    for (size_t i = idle + idleAdded; i < overdue && alive < mostThreads; ++i) {
      if (!add(/*added=*/true)) return now + std::chrono::milliseconds(100);
    }
    if (next) next = std::max(*next, now + kPatience);
    return next;
  }

  void superviseAll() {
    std::unique_lock lock(mutex);
    while (!stopping) {
      joinEnded(lock);
      if (stopping) return;
      if (const auto next = rescue()) {
        supervise.wait_until(lock, *next);
      } else {
        supervise.wait(lock);
      }
    }
  }

  // Under the lock; what it returns is destroyed without.
  std::vector<Job> stop() {
    stopping = true;
    std::vector<Job> dropped;
    for (const LanePtr& lane : waiting) {
      for (auto& jobs : lane->jobs) {
        std::move(jobs.begin(), jobs.end(), std::back_inserter(dropped));
        jobs.clear();
      }
      lane->queued = 0;
      lane->listed = false;
    }
    waiting.clear();
    queued = 0;
    work.notify_all();
    rescues.notify_all();
    supervise.notify_all();
    return dropped;
  }
};

WorkerThreads::WorkerThreads(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<WorkerThreads>> WorkerThreads::start(unsigned threads, unsigned mostThreads,
                                                            ThreadClass threadClass) {
  auto state = std::make_shared<State>();
  state->threadClass = threadClass;
  state->baseThreads = threads;
  state->mostThreads = std::max(threads, mostThreads);
  std::unique_ptr<WorkerThreads> workers(new WorkerThreads(state));
  {
    const std::lock_guard lock(state->mutex);
    for (unsigned i = 0; i < threads; ++i) {
      if (!state->add(/*added=*/false)) {
        return makeStatus(ResultCode::OUT_OF_MEMORY, "worker thread {} of {} cannot be started",
                          i + 1, threads);
      }
    }
  }
  if (state->mostThreads == threads) return workers;
  try {
    state->supervisor = std::thread([raw = state.get()] {
      ::pthread_setname_np(::pthread_self(), "halyard-watch");
      raw->superviseAll();
    });
  } catch (const std::system_error& error) {
    return makeStatus(ResultCode::OUT_OF_MEMORY, "starting worker threads: {}", error.what());
  }
  return workers;
}

WorkerThreads::~WorkerThreads() {
  std::vector<Job> dropped;
  {
    const std::lock_guard lock(state_->mutex);
    dropped = state_->stop();
  }
  // First: it is the only other one that takes threads off the list, or adds some.
  if (state_->supervisor.joinable()) state_->supervisor.join();
  for (State::Worker& worker : state_->workers) worker.thread.join();
}

std::shared_ptr<WorkerThreads::Lane> WorkerThreads::openLane(const LaneLimits& limits) {
  return std::make_shared<Lane>(limits);
}

void WorkerThreads::close(const std::shared_ptr<Lane>& lane) {
  auto dropped = std::make_shared<std::vector<Job>>();
  const std::lock_guard lock(state_->mutex);
  lane->closed = true;
  if (!lane->listed) return;
  for (auto& jobs : lane->jobs) {
    std::move(jobs.begin(), jobs.end(), std::back_inserter(*dropped));
    jobs.clear();
  }
  state_->queued -= lane->queued - 1;
  // In place of them all one job that destroys them.
  lane->jobs[0].emplace_back([dropped] { dropped->clear(); });
  lane->queued = 1;
}

Status WorkerThreads::post(const std::shared_ptr<Lane>& lane, Priority priority, Job job) {
  State::Wakes wakes;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping) return opFailed("the driver is shutting down");
    if (lane->closed) return opFailed("the client has gone");
    if (lane->queued >= lane->limits.queued) {
      return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                        "{} calls of the client are waiting already, no more are taken",
                        lane->queued);
    }
    wakes = state_->put(lane, static_cast<size_t>(priority), std::move(job));
  }
  if (wakes.worker) state_->work.notify_one();
  if (wakes.supervisor) state_->supervise.notify_one();
  return okStatus();
}

bool WorkerThreads::drain(std::chrono::milliseconds limit) {
  std::vector<Job> dropped;
  std::unique_lock lock(state_->mutex);
  dropped = state_->stop();
  return state_->rest.wait_for(lock, limit, [this] { return state_->running == 0; });
}

size_t WorkerThreads::threads() const {
  const std::lock_guard lock(state_->mutex);
  return state_->alive;
}

}  // namespace halyard::hal

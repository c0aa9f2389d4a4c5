// FairExecutor: a crew of threads for each class, and a watcher that all crews share. The watcher
// acts while work waits and no thread is free: it adds threads and ends the waiting of jobs with a
// deadline.
#include "base/fair_executor.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/fair_crew.h"
#include "base/process_generation.h"
#include "base/signals_blocked.h"

namespace halyard {
namespace {

constexpr unsigned kLeastUsual = 4;
// Few pieces of background work compute at a time: waiting work needs no memory.
unsigned backgroundThreads() { return std::max(kLeastUsual, std::thread::hardware_concurrency()); }

constexpr std::array<ThreadClass, kThreadClasses> kClasses = {
    ThreadClass::BACKGROUND, ThreadClass::BATCH, ThreadClass::NORMAL, ThreadClass::URGENT};

// A call of FairExecutor::run.
struct Call {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool ran = false;
  bool ended = false;  // run or dropped
  std::exception_ptr error;
};

}  // namespace

class FairExecutor::Watcher {
 public:
  // `watch` returns the time of its next call.
  using Watch = std::function<std::optional<Clock::time_point>()>;

  // Has `watch` called before `by`. `keeper`: keeps this object while the thread runs.
  void wake(Clock::time_point by, const Watch& watch,
            const std::function<std::shared_ptr<void>()>& keeper) {
    if (next_.load() <= by.time_since_epoch().count()) return;
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    wanted_ = true;
    if (!thread_.joinable()) {
      const SignalsBlocked blocked;
      try {
        thread_ = std::thread([this, watch, kept = keeper()] { run(watch); });
      } catch (const std::system_error&) {
        // Without the watcher, work waits until a thread is free.
      }
    }
    changed_.notify_one();
  }

  void stop() {
    std::thread thread;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_one();
      thread.swap(thread_);
    }
    if (!thread.joinable()) return;
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }

 private:
  void run(const Watch& watch) {
    ::pthread_setname_np(::pthread_self(), "halyard-watch");
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      wanted_ = false;
      next_ = kNever;
      lock.unlock();
      const std::optional<Clock::time_point> next = watch();
      lock.lock();
      const auto isCalled = [this] { return stopping_ || wanted_; };
      if (!next) {
        changed_.wait(lock, isCalled);
        continue;
      }
      next_ = next->time_since_epoch().count();
      changed_.wait_until(lock, *next, isCalled);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
  bool wanted_ = false;
  bool stopping_ = false;
  static constexpr int64_t kNever = INT64_MAX;
  std::atomic<int64_t> next_ = kNever;  // the next call of `watch`, in ticks of the clock
};

struct FairExecutor::State : std::enable_shared_from_this<State> {
  explicit State(const Options& theOptions) : options(theOptions) {
    for (const ThreadClass threadClass : kClasses) {
      crews[static_cast<size_t>(threadClass)] = std::make_unique<Crew>(settingsOf(threadClass));
    }
  }

  Crew::Settings settingsOf(ThreadClass threadClass) {
    Crew::Settings settings;
    settings.threadClass = threadClass;
    const bool isBackground = threadClass == ThreadClass::BACKGROUND;
    const unsigned usual = isBackground ? backgroundThreads() : usualThreads();
    settings.usual = options.threads != 0 ? options.threads : usual;
    settings.most = std::max(settings.usual, options.mostThreads);
    if (threadClass == ThreadClass::BATCH) settings.usual = settings.most = 1;
    settings.patience = isBackground ? kLongPatience : kPatience;
    settings.keeper = [this] { return shared_from_this(); };
    settings.wakeWatcher = [this](Clock::time_point by) {
      watcher.wake(
          by, [this] { return watchAll(); }, [this] { return shared_from_this(); });
    };
    return settings;
  }
  std::optional<Clock::time_point> watchAll() {
    std::optional<Clock::time_point> next;
    for (const auto& each : crews) {
      if (const auto own = each->watch()) next = std::min(next.value_or(*own), *own);
    }
    return next;
  }
  Crew& crew(ThreadClass threadClass) { return *crews[static_cast<size_t>(threadClass)]; }
  Status check() const { return stamp.check("the executor"); }

  const Options options;
  const ProcessStamp stamp;
  Watcher watcher;
  std::array<std::unique_ptr<Crew>, kThreadClasses> crews;
  const std::shared_ptr<Lane> disposals =
      std::make_shared<Lane>(LaneLimits{.queued = SIZE_MAX, .running = 1});
};

unsigned FairExecutor::usualThreads() {
  return std::max(kLeastUsual, 2 * std::thread::hardware_concurrency());
}

FairExecutor::FairExecutor() : FairExecutor(Options()) {}

FairExecutor::FairExecutor(Options options) : state_(std::make_shared<State>(options)) {}

FairExecutor::~FairExecutor() {
  if (state_->stamp.isOfThisProcess()) {
    stop();
  } else {
    // The threads exist in the parent only, and may have held any lock at the fork.
    (void)std::make_unique<std::shared_ptr<State>>(state_).release();
  }
}

std::shared_ptr<FairExecutor::Lane> FairExecutor::openLane(const LaneLimits& limits) {
  return std::make_shared<Lane>(limits);
}

void FairExecutor::close(const std::shared_ptr<Lane>& lane) {
  if (!state_->stamp.isOfThisProcess()) return;
  auto dropped = std::make_shared<std::list<Item>>();
  for (const auto& crew : state_->crews) dropped->splice(dropped->end(), crew->close(lane));
  if (!dropped->empty()) dispose(std::move(dropped));
}

Status FairExecutor::post(const std::shared_ptr<Lane>& lane, ThreadClass threadClass, Job job,
                          Expiry expiry) {
  // The job may run, and destroy the executor, before this call returns.
  const std::shared_ptr<State> state = state_;
  HALYARD_RETURN_IF_ERROR(state->check());
  Item item;
  item.lane = lane;
  item.job = std::move(job);
  item.expiry = std::move(expiry);
  return state->crew(threadClass).post(std::move(item));
}

Status FairExecutor::run(const std::shared_ptr<Lane>& lane, ThreadClass threadClass,
                         std::optional<Clock::time_point> deadline, const std::stop_token& cancel,
                         const Job& work) {
  const std::shared_ptr<State> state = state_;  // as in post
  HALYARD_RETURN_IF_ERROR(state->check());
  Crew& crew = state->crew(threadClass);
  // A thread of another class is better than no execution.
  if (Crew::current() == &crew || !crew.ensureThread()) {
    work();
    return okStatus();
  }
  const auto call = std::make_shared<Call>();
  // Destroyed with the job, whether that has run or not.
  std::shared_ptr<void> end(nullptr, [call](void*) {
    const std::lock_guard lock(call->mutex);
    call->ended = true;
    call->changed.notify_all();
  });
  Item item;
  item.lane = lane;
  item.job = [call, &work, end] {
    call->ran = true;
    try {
      work();
    } catch (...) {
      call->error = std::current_exception();  // for the caller
    }
  };
  end = nullptr;
  uint64_t id = 0;
  HALYARD_RETURN_IF_ERROR(crew.post(std::move(item), &id));
  const auto hasEnded = [&] { return call->ended; };
  std::unique_lock lock(call->mutex);
  const bool inTime = deadline ? call->changed.wait_until(lock, cancel, *deadline, hasEnded)
                               : call->changed.wait(lock, cancel, hasEnded);
  if (!inTime) {
    lock.unlock();
    if (!crew.withdraw(lane, id).empty()) {
      if (cancel.stop_requested()) return opFailed("cancelled while it waited for its turn");
      return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT,
                        "the deadline has passed while the work waited for its turn");
    }
    lock.lock();
    call->changed.wait(lock, hasEnded);
  }
  if (call->error) std::rethrow_exception(call->error);
  return call->ran ? okStatus() : opFailed("the executor has stopped before it was its turn");
}

void FairExecutor::dispose(std::shared_ptr<void> object) {
  auto shared = std::make_shared<std::shared_ptr<void>>(std::move(object));
  // After stop, the object is destroyed here.
  (void)post(state_->disposals, ThreadClass::BATCH, [shared] { shared->reset(); });
}

Status FairExecutor::add(std::shared_ptr<Source> source, const std::shared_ptr<Lane>& lane,
                         ThreadClass threadClass) {
  const std::shared_ptr<State> state = state_;  // as in post
  HALYARD_RETURN_IF_ERROR(state->check());
  return state->crew(threadClass).add(std::move(source), lane);
}

void FairExecutor::remove(const Source& source) {
  if (!state_->stamp.isOfThisProcess()) return;
  for (const auto& crew : state_->crews) {
    if (crew->remove(source)) return;
  }
}

bool FairExecutor::drain(std::optional<std::chrono::milliseconds> limit) {
  std::optional<Clock::time_point> until;
  if (limit) until = Clock::now() + *limit;
  // All are stopped before any is waited for.
  for (const auto& crew : state_->crews) crew->stop();
  bool rests = true;
  for (const auto& crew : state_->crews) rests = crew->awaitRest(until) && rests;
  return rests;
}

void FairExecutor::stop() {
  // Not drain: a job that stops the executor must not wait for itself.
  for (const auto& crew : state_->crews) crew->stop();
  state_->watcher.stop();
  for (const auto& crew : state_->crews) crew->joinThreads();
}

size_t FairExecutor::waiting() const {
  size_t waiting = 0;
  for (const auto& crew : state_->crews) waiting += crew->waiting();
  return waiting;
}

unsigned FairExecutor::threads() const {
  unsigned threads = 0;
  for (const auto& crew : state_->crews) threads += crew->threads();
  return threads;
}

}  // namespace halyard

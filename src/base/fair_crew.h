// FairExecutor::Crew: the threads of one class, and the work that waits for them.
// Thread safety: all methods may be called from any thread. Ownership: owns its threads, shares its
//   sources. Each thread keeps the executor's state, and with it the crew.
//
// Only for fair_executor.cc and fair_crew.cc.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/fair_executor.h"
#include "halyard/driver/unique_fd.h"

namespace halyard {

inline constexpr size_t kThreadClasses = 4;

struct FairExecutor::Item {
  std::shared_ptr<Lane> lane;
  Job job;  // empty: `watched` is ready
  Expiry expiry;
  uint64_t id = 0;               // of the job
  Clock::time_point since = {};  // it waits
  std::shared_ptr<Watched> watched;
};

// A source that a crew watches; the crew's mutex guards it.
struct FairExecutor::Watched {
  enum class State { RESTING, QUEUED, SERVED };

  std::shared_ptr<Source> source;
  std::shared_ptr<Lane> lane;
  uint64_t key = 0;
  State state = State::RESTING;
  bool again = false;    // an edge has come during the turn
  bool removed = false;  // by remove
};

class FairExecutor::Lane {
 public:
  // A lane's work in one crew; the crew's mutex guards it.
  struct Part {
    std::list<Item> items;  // that wait
    size_t jobs = 0;        // that are among them
    unsigned running = 0;
    bool listed = false;  // in Crew::waiting_
    bool closed = false;
    std::atomic<unsigned> waitingItems = 0;  // items.size(), for Turn::othersWait
  };

  explicit Lane(const LaneLimits& theLimits) : limits(theLimits) {}

  const LaneLimits limits;
  std::array<Part, kThreadClasses> parts;
};

class FairExecutor::Crew {
 public:
  struct Settings {
    ThreadClass threadClass = ThreadClass::NORMAL;
    unsigned usual = 1;
    unsigned most = 1;
    std::chrono::milliseconds patience = kPatience;
    // A reference that keeps the crew alive.
    std::function<std::shared_ptr<void>()> keeper;
    // Asks for a call of `watch` before that time.
    std::function<void(Clock::time_point)> wakeWatcher;
  };

  explicit Crew(Settings settings) : settings_(std::move(settings)) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // The crew that the calling thread belongs to; null for none.
  static const Crew* current();
  // False when the crew has no thread and none can start.
  bool ensureThread();
  // `id`: receives the job's number for `withdraw`, and lifts the lane's limit of waiting jobs.
  Status post(Item item, uint64_t* id = nullptr);
  // Takes a job back that has not begun. Empty: it has.
  std::list<Item> withdraw(const std::shared_ptr<Lane>& lane, uint64_t id);
  // Takes no more jobs in the lane. Returns the waiting ones, to be destroyed by the caller.
  std::list<Item> close(const std::shared_ptr<Lane>& lane);
  Status add(std::shared_ptr<Source> source, const std::shared_ptr<Lane>& lane);
  // False: it is not in this crew.
  bool remove(const Source& source);
  // Takes no more work. Returns the waiting jobs, to be destroyed by the caller.
  std::list<Item> stop();
  bool awaitRest(std::optional<Clock::time_point> until);
  void joinThreads();
  // For the watcher: runs expired jobs and adds threads. Returns the time of the next call; without
  // it, Settings::wakeWatcher asks for one.
  std::optional<Clock::time_point> watch();

  size_t waiting() const;
  unsigned threads() const;

 private:
  struct Thread {
    std::thread thread;
    std::optional<Clock::time_point> busySince;  // with its present work
  };
  class OwnTurn;
  static constexpr uint64_t kStopKey = 0;
  static constexpr uint64_t kBellKey = 1;
  static constexpr uint64_t kFirstSource = 2;

  Lane::Part& partOf(Lane& lane) const {
    return lane.parts[static_cast<size_t>(settings_.threadClass)];
  }
  bool isReady(Lane& lane) const {
    const Lane::Part& part = partOf(lane);
    return !part.items.empty() && part.running < lane.limits.running;
  }
  bool hasReadyWork() const;
  void work(Thread* self);
  // All with the lock, which `next` and `awaitEvent` release to sleep. No item: the thread ends.
  std::list<Item> next(std::unique_lock<std::mutex>& lock);
  std::list<Item> choose();
  void enqueue(std::list<Item> item);
  // Provides a thread for new work, or wakes the watcher. True: the bell is to wake a thread.
  bool provideThread();
  bool startThread();
  bool openDescriptors();
  void gather();
  // False: nothing has come for a while.
  bool awaitEvent(std::unique_lock<std::mutex>& lock);
  void becameReady(uint64_t key);
  void queueSource(const std::shared_ptr<Watched>& watched);
  void unlistIfEmpty(const std::shared_ptr<Lane>& lane);
  // Moves the lane's items that match to `to`.
  template <typename Matches>
  void moveOut(const std::shared_ptr<Lane>& lane, Matches matches, std::list<Item>* to);
  void forget(Watched& watched);
  void finish(Lane& lane, const std::shared_ptr<Watched>& watched, Source::Outcome outcome);
  std::list<Item> takeExpired(Clock::time_point now);
  std::optional<Clock::time_point> nextDeadline() const;
  void addThreads(Clock::time_point now);
  // The number of threads that have had the same work for the patience.
  unsigned longBusy(Clock::time_point now) const;
  // Without the lock.
  Source::Outcome runItem(Item& item);
  static void ring(const UniqueFd& event);

  const Settings settings_;
  mutable std::mutex mutex_;
  std::condition_variable rest_;              // running_ is 0
  std::list<std::shared_ptr<Lane>> waiting_;  // lanes with waiting items, in the order of turns
  std::list<Thread> threads_;
  std::map<uint64_t, std::shared_ptr<Watched>> sources_;
  std::map<const Source*, uint64_t> keys_;
  uint64_t nextKey_ = kFirstSource;
  uint64_t nextJob_ = 1;
  UniqueFd epoll_;
  UniqueFd bell_;  // eventfd: an edge wakes a thread for a job
  UniqueFd stop_;  // eventfd: readable from the stop on
  unsigned alive_ = 0;
  unsigned running_ = 0;
  std::atomic<unsigned> idle_ = 0;  // changes with the lock only
  std::atomic<bool> stopping_ = false;
};

}  // namespace halyard

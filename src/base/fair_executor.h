// FairExecutor: runs the work of many clients on few threads, so that no client blocks another.
// Thread safety: all methods may be called from any thread, also from a job.
// Ownership: owns its threads and the waiting jobs; shares lanes and sources with their users.
//   Destruction drops waiting jobs and waits for the running ones, except a job that destroys it.
//
// Each client has a lane. Each thread class has threads of its own, because a thread cannot raise
// its priority again. A free thread takes the oldest work of the lane that has the fewest pieces
// running, in turn among equal lanes. Work is a job, or a source that has become ready.
//
// Threads start on demand, up to a usual number for each class. A thread that has had the same work
// for kPatience does not count, since it may be blocked. Further threads start only when all
// threads are busy and a lane has waited: for kPatience if it has no running work, for
// kLongPatience otherwise. In the background, all of these times are kLongPatience, and a lane with
// running work waits until a thread is free. So much short work does not start threads, which would
// only take processors from each other.
//
// A child of a fork does not have the threads. There, each call that takes work fails.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/thread_class.h"
#include "halyard/driver/status.h"

namespace halyard {

class FairExecutor {
 public:
  using Clock = std::chrono::steady_clock;
  using Job = std::function<void()>;
  static constexpr std::chrono::milliseconds kPatience{5};
  static constexpr std::chrono::milliseconds kLongPatience{100};
  // Twice the number of processors, at least 4.
  static unsigned usualThreads();

  struct Options {
    unsigned threads = 0;        // usual threads of each class; 0: by the number of processors
    unsigned mostThreads = 320;  // of each class
  };
  // The limits hold for each thread class.
  struct LaneLimits {
    size_t queued = 1024;   // jobs that wait
    unsigned running = 16;  // jobs and sources that run at a time
  };
  class Lane;

  FairExecutor();
  explicit FairExecutor(Options options);
  ~FairExecutor();
  FairExecutor(const FairExecutor&) = delete;
  FairExecutor& operator=(const FairExecutor&) = delete;

  std::shared_ptr<Lane> openLane(const LaneLimits& limits);
  // Takes no more jobs in the lane and drops the waiting ones. Running jobs continue.
  void close(const std::shared_ptr<Lane>& lane);

  struct Expiry {
    std::optional<Clock::time_point> deadline;
    // Replaces a job that has not begun at the deadline. Must be short, for it may run on the
    // watcher's thread.
    Job expired;
  };
  // RESOURCE_EXHAUSTED_TRANSIENT when too many jobs of the lane wait, or no thread can start.
  // OP_FAILED for a closed lane or after drain. The executor logs an exception of the job.
  Status post(const std::shared_ptr<Lane>& lane, ThreadClass threadClass, Job job,
              Expiry expiry = {});
  // Runs `work` on a thread of the class and waits for its end. A thread of this executor that has
  // the class runs `work` itself. An exception of `work` reaches the caller.
  // MISSED_DEADLINE_TRANSIENT when the deadline passes, and OP_FAILED when `cancel` is requested or
  // the executor stops, before `work` begins; it is dropped then.
  Status run(const std::shared_ptr<Lane>& lane, ThreadClass threadClass,
             std::optional<Clock::time_point> deadline, const std::stop_token& cancel,
             const Job& work);
  // Destroys `object` on a thread that takes the processor from no other.
  void dispose(std::shared_ptr<void> object);

  // The state of a source's turn on a thread.
  class Turn {
   public:
    virtual ~Turn() = default;
    // Other work waits, or may wait, for this thread.
    virtual bool othersWait() const = 0;
    virtual bool stopping() const = 0;
  };
  // Work that announces itself by descriptors, such as a ring in shared memory.
  class Source {
   public:
    enum class Outcome { IDLE, MORE, ENDED };
    virtual ~Source() = default;
    // Each edge to readable asks for a turn. The executor does not read them.
    virtual std::array<int, 2> descriptors() const = 0;
    // One thread serves a source at a time. An edge during a turn leads to another turn.
    // MORE asks for another turn behind the work that waits; ENDED removes the source.
    virtual Outcome serve(const Turn& turn) = 0;
  };
  // RESOURCE_EXHAUSTED_TRANSIENT when its descriptors cannot be watched, or no thread can start.
  Status add(std::shared_ptr<Source> source, const std::shared_ptr<Lane>& lane,
             ThreadClass threadClass);
  // Does not wait for a turn of the source.
  void remove(const Source& source);

  // Takes no more work, drops the waiting jobs and waits for the running ones; without a limit, as
  // long as that takes. False when they have not ended in time.
  bool drain(std::optional<std::chrono::milliseconds> limit);
  // As drain without a limit; then ends the threads. Not from several threads at once.
  void stop();

  // For tests: the number of jobs and ready sources that wait, and of threads.
  size_t waiting() const;
  unsigned threads() const;

 private:
  struct Watched;
  struct Item;
  class Crew;
  class Watcher;
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace halyard

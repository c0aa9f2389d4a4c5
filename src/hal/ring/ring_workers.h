// RingWorkers: a few threads that serve many rings: they sleep together, until a doorbell rings.
// Thread safety: add, remove and drain may be called from any thread.
// Ownership: owns its threads, and shares the rings until they are removed or have ended.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "hal/ring/served_ring.h"
#include "hal/ring/spinning.h"

namespace halyard::hal {

// There is always a thread that sleeps, up to the limit: one comes when the last of them gets
// something to do, and goes when there have been too many for a while.
class RingWorkers {
 public:
  struct Options {
    unsigned maxThreads = 0;              // 0: by the number of cores
    std::function<void()> onThreadStart;  // may be empty
  };
  static Result<std::unique_ptr<RingWorkers>> start(Options options);
  // Waits for the packets that are being served.
  ~RingWorkers();
  RingWorkers(const RingWorkers&) = delete;
  RingWorkers& operator=(const RingWorkers&) = delete;

  Status add(const std::shared_ptr<ServedRing>& ring);
  // Closes the ring and forgets it. Does not wait.
  void remove(const ServedRing& ring);
  // Takes no more packets and waits for those that are being served. False when that has not come
  // to an end in time.
  bool drain(std::chrono::milliseconds limit);
  unsigned threads() const;

 private:
  struct Thread {
    std::thread thread;
    bool ended = false;
  };

  explicit RingWorkers(Options options);
  void startThread();  // with the lock
  void work(Thread* self);
  // Waits for a doorbell; nullptr: the thread is to end.
  std::shared_ptr<ServedRing> next(Thread* self);
  void serve(ServedRing& ring);
  bool mayEnd(Thread* self);
  bool othersWait() const { return idle_.load() == 0 && atLimit_.load(); }
  bool spinOn(ServedRing& ring);

  const Options options_;
  UniqueFd epoll_;
  UniqueFd stop_;  // eventfd: readable for good once everything is to end
  std::atomic<bool> stopping_ = false;
  std::atomic<unsigned> idle_ = 0;
  std::atomic<bool> atLimit_ = false;
  SpinGate gate_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Thread> threads_;
  unsigned running_ = 0;  // threads that have not ended
  std::map<uint64_t, std::shared_ptr<ServedRing>> rings_;
  std::map<const ServedRing*, uint64_t> keys_;
  uint64_t nextKey_ = 1;
};

}  // namespace halyard::hal

// RingWorkers: a few threads that serve many rings: they sleep together, until a doorbell rings.
// Thread safety: add, remove and drain may be called from any thread.
// Ownership: owns its threads, and shares the rings until they are removed or have ended.
//
// No client can keep another waiting for long, whatever it sends. A client has at most so many
// rings served at a time; a ring has its turn after a number of packets of another; and a ring that
// has waited for kPatience because all threads are busy gets another thread. Up to `threads`,
// threads come as soon as the last one that sleeps gets something to do; those too many go after a
// while.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "hal/ring/served_ring.h"
#include "hal/ring/spinning.h"

namespace halyard::hal {

class RingWorkers {
 public:
  static constexpr std::chrono::milliseconds kPatience{5};

  struct Options {
    unsigned threads = 0;  // 0: by the number of cores
    unsigned mostThreads = 320;
    unsigned mostOfClient = 16;           // rings that are served at a time
    std::function<void()> onThreadStart;  // may be empty
  };
  static Result<std::unique_ptr<RingWorkers>> start(Options options);
  // Waits for the packets that are being served.
  ~RingWorkers();
  RingWorkers(const RingWorkers&) = delete;
  RingWorkers& operator=(const RingWorkers&) = delete;

  // `client`: an address that stands for whose ring it is.
  Status add(const std::shared_ptr<ServedRing>& ring, const void* client);
  // Closes the ring and forgets it. Does not wait.
  void remove(const ServedRing& ring);
  // Takes no more packets and waits for those that are being served. False when that has not come
  // to an end in time.
  bool drain(std::chrono::milliseconds limit);
  // For tests: how many threads there are that serve.
  unsigned threads() const;

 private:
  struct Thread {
    std::thread thread;
    bool ended = false;
  };
  struct Client {
    unsigned rings = 0;
    unsigned served = 0;            // at the moment
    std::deque<uint64_t> deferred;  // rings that wait for one of them to be done
  };
  struct Entry {
    std::shared_ptr<ServedRing> ring;
    const void* client = nullptr;
    bool deferred = false;
  };
  // A ring to serve, with the key of its client.
  struct Job {
    std::shared_ptr<ServedRing> ring;
    const void* client = nullptr;
  };

  explicit RingWorkers(Options options);
  void startThread();  // with the lock
  void work(Thread* self);
  // Waits for a doorbell; no ring: the thread is to end.
  Job next(Thread* self);
  // The ring of an event, unless it has gone or has to wait for others of its client. With the
  // lock.
  Job takeUp(uint64_t key);
  void serve(ServedRing& ring);
  void finish(const Job& job);
  bool mayEnd(Thread* self);
  // Adds threads while rings wait for too long.
  void supervise();
  // True when a ring may be waiting for a thread.
  bool othersWait() const { return idle_.load() == 0; }
  bool spinOn(ServedRing& ring);

  const Options options_;
  UniqueFd epoll_;
  UniqueFd stop_;  // eventfd: readable for good once everything is to end
  std::atomic<bool> stopping_ = false;
  std::atomic<unsigned> idle_ = 0;
  SpinGate gate_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable scarce_;  // for the supervisor: no thread sleeps
  std::list<Thread> threads_;
  std::thread supervisor_;
  unsigned running_ = 0;  // threads that have not ended
  uint64_t takenUp_ = 0;  // counts events
  std::map<uint64_t, Entry> rings_;
  std::map<const ServedRing*, uint64_t> keys_;
  std::map<const void*, Client> clients_;
  uint64_t nextKey_ = 1;
};

}  // namespace halyard::hal

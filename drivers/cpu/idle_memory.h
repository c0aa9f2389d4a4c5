// IdleMemory: gives back memory that models keep between executions, once it has been unused for a
// while.
// Thread safety: all methods may be called from any thread.
// Ownership: owns its thread, which exists only while memory is kept. Borrows the keepers.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace halyard::cpudriver {

class IdleMemory {
 public:
  using Clock = std::chrono::steady_clock;

  class Keeper {
   public:
    virtual ~Keeper() = default;
    // Gives back the memory that has not been used since `before`. Returns whether any memory is
    // still kept.
    virtual bool releaseUnusedSince(Clock::time_point before) = 0;
  };

  // Memory that has been idle for `patience` is given back before twice that time has passed.
  explicit IdleMemory(std::chrono::milliseconds patience) : patience_(patience) {}
  // No keeper may be left.
  ~IdleMemory();
  IdleMemory(const IdleMemory&) = delete;
  IdleMemory& operator=(const IdleMemory&) = delete;

  void add(Keeper* keeper);
  // When it returns, the keeper is not called any more.
  void remove(Keeper* keeper);
  // To be called when a keeper begins to keep something. Cheap when others do already.
  void startWatching();

 private:
  void watch();

  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Keeper*> keepers_;
  // Changed under the lock. While the keepers are asked it is false: what one begins to keep behind
  // the question has startWatching wait for its end.
  std::atomic<bool> isWatching_ = false;
  bool isStopping_ = false;
  std::thread thread_;
};

}  // namespace halyard::cpudriver

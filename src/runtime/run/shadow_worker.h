// ShadowWorker: the single thread of the process that verifies executions, at the lowest priority.
// Thread safety: all methods may be called from any thread.
// Ownership: owns the work until it is done. The work that is not done when the process ends is
// dropped. The worker is never destroyed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "halyard/driver/device.h"

namespace halyard::runtime {

class ShadowWorker {
 public:
  static ShadowWorker& instance();
  ShadowWorker(const ShadowWorker&) = delete;
  ShadowWorker& operator=(const ShadowWorker&) = delete;

  // Returns the time for which the worker then leaves the processor to other threads.
  using Work = std::function<std::chrono::nanoseconds()>;
  // False when the thread cannot be started.
  bool post(Work work);
  // While an object of this class exists, a thread waits for work and the worker makes no pauses.
  class WithoutPauses {
   public:
    explicit WithoutPauses(ShadowWorker& worker);
    ~WithoutPauses();
    WithoutPauses(const WithoutPauses&) = delete;
    WithoutPauses& operator=(const WithoutPauses&) = delete;

   private:
    ShadowWorker& worker_;
  };
  // A CPU device for this worker only, with one thread of the lowest class.
  hal::Device& cpu() { return *cpu_; }

 private:
  ShadowWorker();
  [[noreturn]] void run();

  const std::shared_ptr<hal::Device> cpu_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Work> work_;
  unsigned hurried_ = 0;
  bool isRunning_ = false;
};

}  // namespace halyard::runtime

// ShadowWorker: the one thread of the process that verifies executions, when nobody else wants the
// processor.
// Thread safety: all methods may be called from any thread. Ownership: owns the work until it is
// done; what has not been done when the process ends is dropped. Nothing destroys the worker.
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

  // Gives how long the processor is to be left to others afterwards.
  using Work = std::function<std::chrono::nanoseconds()>;
  // False when there is no thread for it.
  bool post(Work work);
  // While an object exists, a thread waits for work, and the worker makes no pauses.
  class WithoutPauses {
   public:
    explicit WithoutPauses(ShadowWorker& worker);
    ~WithoutPauses();
    WithoutPauses(const WithoutPauses&) = delete;
    WithoutPauses& operator=(const WithoutPauses&) = delete;

   private:
    ShadowWorker& worker_;
  };
  // The CPU device of its own: one thread of the lowest class.
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

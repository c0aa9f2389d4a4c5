// ShadowWorker: the one thread of the process that verifies executions, when nobody else wants the
// processor.
// Thread safety: all methods may be called from any thread. Ownership: owns the work until it is
// done; work that has not begun when the process ends is dropped.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

#include "halyard/driver/device.h"

namespace halyard::runtime {

class ShadowWorker {
 public:
  static ShadowWorker& instance();
  ~ShadowWorker();
  ShadowWorker(const ShadowWorker&) = delete;
  ShadowWorker& operator=(const ShadowWorker&) = delete;

  // `work` gets what tells it that the process ends. False when there is no thread for it.
  bool post(std::function<void(std::stop_token)> work);
  // The CPU device of its own: one thread of the lowest class.
  hal::Device& cpu() { return *cpu_; }

 private:
  ShadowWorker();
  void run(const std::stop_token& stop);

  const std::shared_ptr<hal::Device> cpu_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void(std::stop_token)>> work_;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace halyard::runtime

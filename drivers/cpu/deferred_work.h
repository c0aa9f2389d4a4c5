// DeferredWork: something that is done once and may wait: done by the thread that is there for it,
// or by the first that needs its result. Thread safety: all but set() may be called from any
// thread. Ownership: owns the function.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>

#include "base/work_limit.h"
#include "halyard/driver/status.h"

namespace halyard::cpudriver {

class DeferredWork {
 public:
  // Nothing is to be done, and has succeeded.
  DeferredWork() = default;
  DeferredWork(const DeferredWork&) = delete;
  DeferredWork& operator=(const DeferredWork&) = delete;

  // `work` is to be done: not in the calling thread's WorkLimit, but until abandon(). It may throw
  // WorkAbandoned and std::bad_alloc, which become errors. Before anybody else knows of this.
  void set(std::function<Status()> work);

  bool hasSucceeded() const { return succeeded_.load(std::memory_order_acquire); }
  bool hasFailed();
  // Does it, unless somebody has begun: then waits. What it has come to.
  Status finish();
  // Waits for somebody to do it until the limit is exceeded, and is nothing then.
  std::optional<Status> await(const WorkLimit& limit);
  // Nobody needs it any more: who is at it stops, and who comes does not begin.
  void abandon() { unwanted_.request_stop(); }

 private:
  enum class Stage : uint8_t { WAITING, BEGUN, DONE };

  Status attempt();

  std::atomic<bool> succeeded_ = true;
  std::stop_source unwanted_;
  std::mutex mutex_;
  std::condition_variable_any done_;
  Stage stage_ = Stage::DONE;
  std::function<Status()> work_;
  Status result_;
};

}  // namespace halyard::cpudriver

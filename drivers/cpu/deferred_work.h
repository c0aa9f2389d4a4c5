// DeferredWork: a task that is done once and may wait. The thread that is there for it does it, or
// the first thread that needs its result.
// Thread safety: all methods except set() may be called from any thread.
// Ownership: owns the function.
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
  // No work: it has succeeded already.
  DeferredWork() = default;
  DeferredWork(const DeferredWork&) = delete;
  DeferredWork& operator=(const DeferredWork&) = delete;

  // Sets the work. It does not run under the calling thread's WorkLimit, but until abandon(). It
  // may throw WorkAbandoned and std::bad_alloc, which become errors. Call it before any other
  // thread knows this object.
  void set(std::function<Status()> work);

  bool hasSucceeded() const { return succeeded_.load(std::memory_order_acquire); }
  bool hasFailed();
  // Does the work, or waits when another thread has begun it. Returns the work's status.
  Status finish();
  // Waits until another thread has done the work. Empty when the limit is exceeded first.
  std::optional<Status> await(const WorkLimit& limit);
  // The result is no longer needed: a thread that does the work stops, and no other begins it.
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

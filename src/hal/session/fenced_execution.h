// Fenced execution of whatever can be executed: waits for fences without a thread, runs on the
// workers, and signals a fence of its own.
// Thread safety: all functions may be called from any thread.
// Ownership: as each says.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>

#include "hal/session/fence_poller.h"
#include "hal/session/fenced_workers.h"
#include "halyard/driver/device.h"

namespace halyard::hal {

// The threads for fenced executions of a process: the one that waits, and those that compute. None
// runs before it is needed.
class FenceService {
 public:
  FenceService() = default;
  FenceService(const FenceService&) = delete;
  FenceService& operator=(const FenceService&) = delete;

  // Starts its thread at the first call; RESOURCE_EXHAUSTED_TRANSIENT when that fails.
  Result<FencePoller*> poller();
  FencedWorkers& workers() { return workers_; }

 private:
  std::mutex mutex_;
  std::unique_ptr<FencePoller> poller_;
  FencedWorkers workers_;
};

// How much of a process one client's fenced executions may hold while they are pending. A client of
// its own to the workers.
class FencedLimit {
 public:
  // Descriptors: a chain of 1,000 executions may have five for each.
  static constexpr size_t kMaxDescriptors = 8192;

  // RESOURCE_EXHAUSTED_TRANSIENT when that would be too many.
  Status take(size_t descriptors);
  void giveBack(size_t descriptors) { taken_ -= descriptors; }

 private:
  std::atomic<size_t> taken_ = 0;
};

// What the fenced executions through one device in another process share.
struct RemoteFencing {
  std::shared_ptr<FenceService> service;
  std::shared_ptr<FencedLimit> limit = std::make_shared<FencedLimit>();
};

struct FencedCall {
  // Called once, by a worker, when all fences have signalled. Whatever it holds is let go of before
  // the returned fence signals.
  std::function<ExecutionResult(const ExecuteOptions&)> run;
  ExecuteOptions options;
  std::optional<std::chrono::nanoseconds> duration;  // from the last signal on
  Priority priority = Priority::MEDIUM;
  std::stop_token ended;               // asked to stop: nobody wants the result any more
  std::shared_ptr<FencedLimit> limit;  // not null
  size_t descriptors = 0;              // that `run` holds
};

// What can be wrong with a request for fenced execution: as validateRequest, memory that must not
// be read or written as the request would, and outputs that are not known, or larger than their
// buffers: BAD_DATA.
Status validateFencedRequest(const Model& model, const Request& request);

// The fences of `waitFor` that are pending, duplicated. BAD_DATA for a descriptor that is no fence,
// and for a fence in its error state.
Result<std::vector<ForeignFd>> takePending(std::span<const int> waitFor);

// Begins a fenced execution once the fences of `pending` have signalled; with none it is begun at
// once. By the rules of executeFenced: MISSED_DEADLINE_PERSISTENT when the deadline has passed
// already; later, the returned fence goes into its error state as soon as a fence of `pending`
// does, the deadline passes before `run` was called, `ended` asks for it, or `run` has failed.
FencedResult startFenced(std::shared_ptr<FenceService> service, FencedCall call,
                         std::vector<ForeignFd> pending);

// Fenced execution without fences, for drivers before HAL 1.3, which know none: `run` is called
// here and now. What it fails with is the call's error; with OK there is no fence, as all is done.
FencedResult runAtOnce(const std::function<ExecutionResult(const ExecuteOptions&)>& run,
                       const ExecuteOptions& options,
                       std::optional<std::chrono::nanoseconds> duration);

// An execution that is complete.
std::shared_ptr<FencedExecution> completedExecution(FencedInfo info);

}  // namespace halyard::hal

// Fenced execution: waits for fences without a thread, runs on the executor, and signals a fence of
// its own.
// Thread safety: all functions may be called from any thread. Ownership: see each function.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>

#include "base/fair_executor.h"
#include "hal/session/fence_poller.h"
#include "halyard/driver/device.h"

namespace halyard::hal {

class FencedLimit;

// Shared by all fenced executions of a process. It has the thread that waits, which starts on
// demand, and the executor that runs the executions.
class FenceService {
 public:
  explicit FenceService(std::shared_ptr<FairExecutor> executor) : executor_(std::move(executor)) {}
  FenceService(const FenceService&) = delete;
  FenceService& operator=(const FenceService&) = delete;

  // The first call starts the thread. RESOURCE_EXHAUSTED_TRANSIENT when that fails.
  Result<FencePoller*> poller();
  FairExecutor& executor() { return *executor_; }
  // Makes the limit for the fenced executions of one client.
  std::shared_ptr<FencedLimit> openClient();

 private:
  std::mutex mutex_;
  std::unique_ptr<FencePoller> poller_;
  const std::shared_ptr<FairExecutor> executor_;
};

// Limits the resources that the pending fenced executions of one client hold in a process. It also
// has the client's lane of the executor.
class FencedLimit {
 public:
  // The largest number of executions of one thread class that run at the same time.
  static constexpr unsigned kMaxRunning = 3;
  // A number of descriptors. It allows a chain of 1,000 executions with five descriptors for each.
  static constexpr size_t kMaxDescriptors = 8192;

  explicit FencedLimit(std::shared_ptr<FairExecutor::Lane> lane) : lane_(std::move(lane)) {}

  // RESOURCE_EXHAUSTED_TRANSIENT when the client would hold too many descriptors.
  Status take(size_t descriptors);
  void giveBack(size_t descriptors) { taken_ -= descriptors; }
  const std::shared_ptr<FairExecutor::Lane>& lane() const { return lane_; }

 private:
  const std::shared_ptr<FairExecutor::Lane> lane_;
  std::atomic<size_t> taken_ = 0;
};

// Shared by the fenced executions of one device in another process.
struct RemoteFencing {
  explicit RemoteFencing(std::shared_ptr<FenceService> theService)
      : service(std::move(theService)), limit(service->openClient()) {}

  std::shared_ptr<FenceService> service;
  std::shared_ptr<FencedLimit> limit;
};

struct FencedCall {
  // Called once, on a thread of the executor, when all fences have signalled. It is destroyed
  // before the returned fence signals. If it is not called, the executor destroys it.
  std::function<ExecutionResult(const ExecuteOptions&)> run;
  ExecuteOptions options;
  std::optional<std::chrono::nanoseconds> duration;  // begins with the last signal
  Priority priority = Priority::MEDIUM;
  std::stop_token ended;               // stop requested: the client has ended
  std::shared_ptr<FencedLimit> limit;  // not null
  size_t descriptors = 0;              // number of descriptors that `run` holds
};

// Checks a request for fenced execution as validateRequest does. BAD_DATA also for memory that the
// request must not read or write, and for outputs that are unknown or larger than their buffers.
Status validateFencedRequest(const Model& model, const Request& request);

// The fences of `waitFor` that are pending, duplicated. BAD_DATA for a descriptor that is no fence,
// and for a fence in its error state.
Result<std::vector<ForeignFd>> takePending(std::span<const int> waitFor);

// Begins a fenced execution once all fences of `pending` have signalled, by the rules of
// executeFenced. MISSED_DEADLINE_PERSISTENT when the deadline has passed already.
// The returned fence enters its error state when a fence of `pending` does, or when `run` fails.
// The same happens when the deadline passes, or `ended` is requested, before `run` begins.
FencedResult startFenced(std::shared_ptr<FenceService> service, FencedCall call,
                         std::vector<ForeignFd> pending);

// Fenced execution for drivers before HAL 1.3, which have no fences: calls `run` at once. An error
// of `run` is the call's error. With OK there is no fence, because the execution is complete.
FencedResult runAtOnce(const std::function<ExecutionResult(const ExecuteOptions&)>& run,
                       const ExecuteOptions& options,
                       std::optional<std::chrono::nanoseconds> duration);

// An execution that is complete.
std::shared_ptr<FencedExecution> completedExecution(FencedInfo info);

}  // namespace halyard::hal

#include "hal/session/fenced_execution.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "hal/core/driver_exception.h"
#include "hal/session/priority_class.h"

namespace halyard::hal {
namespace {

uint64_t nanosecondsBetween(TimePoint from, TimePoint to) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count());
}

// `time` + `duration`, at most the largest time.
TimePoint after(TimePoint time, std::chrono::nanoseconds duration) {
  return duration >= TimePoint::max() - time ? TimePoint::max() : time + duration;
}

Status missed(std::string_view when) {
  return makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT, "the deadline has passed {}", when);
}

Status clientGone() { return opFailed("the client of the execution has gone"); }

class FencedRun final : public FencedExecution, public std::enable_shared_from_this<FencedRun> {
 public:
  FencedRun(std::shared_ptr<FenceService> service, FencedCall call, size_t descriptors,
            FenceSignaller signaller)
      : launchedAt_(Clock::now()),
        duration_(call.duration),
        priority_(call.priority),
        descriptors_(descriptors),
        deadline_(call.options.deadline),
        service_(std::move(service)),
        call_(std::move(call)),
        signaller_(std::move(signaller)) {}
  ~FencedRun() override { finishUnlessRunning(opFailed("the execution was dropped")); }
  FencedRun(const FencedRun&) = delete;
  FencedRun& operator=(const FencedRun&) = delete;

  Status start(std::vector<ForeignFd> pending) {
    onEnd_.emplace(call_.ended, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->finishUnlessRunning(clientGone());
    });
    if (pending.empty()) return ready();
    const std::lock_guard lock(mutex_);
    if (running_) return clientGone();
    HALYARD_ASSIGN_OR_RETURN(FencePoller* const poller, service_->poller());
    HALYARD_ASSIGN_OR_RETURN(watch_, poller->watch(std::move(pending), deadline_,
                                                   [self = shared_from_this()](FenceState state) {
                                                     self->woken(state);
                                                   }));
    return okStatus();
  }

  FencedInfo getExecutionInfo() override {
    const std::lock_guard lock(mutex_);
    if (!done_) return {opFailed("the execution has not completed yet"), {}, {}};
    return info_;
  }

 private:
  // Called on the thread of the poller.
  void woken(FenceState state) {
    switch (state) {
      case FenceState::SIGNALLED:
        (void)ready();
        return;
      case FenceState::ERROR:
        return finishUnlessRunning(
            opFailed("a fence that the execution waits for went into its error state"));
      case FenceState::PENDING:
        return finishUnlessRunning(missed("before the execution began"));
    }
  }

  Status ready() {
    std::shared_ptr<FenceService> service;
    std::shared_ptr<FairExecutor::Lane> lane;
    FairExecutor::Expiry expiry;
    {
      const std::lock_guard lock(mutex_);
      watch_ = 0;
      if (running_) return info_.status;
      signalledAt_ = Clock::now();
      if (duration_) {
        const TimePoint end = after(signalledAt_, *duration_);
        deadline_ = deadline_ ? std::min(*deadline_, end) : end;
      }
      expiry.deadline = deadline_;
      service = service_;
      lane = call_.limit->lane();
    }
    // The deadline also applies while all threads are busy.
    expiry.expired = [self = shared_from_this()] { self->woken(FenceState::PENDING); };
    Status posted = service->executor().post(
        lane, threadClassOf(priority_), [self = shared_from_this()] { self->execute(); },
        std::move(expiry));
    if (!posted.ok()) finishUnlessRunning(posted);
    return posted;
  }

  // Called on a thread of the executor.
  void execute() {
    FencedCall call;
    {
      const std::lock_guard lock(mutex_);
      if (running_) return;
      running_ = true;
      call = std::move(call_);
    }
    call.options.deadline = deadline_;
    call.options.cancel = call.ended;
    startedAt_ = Clock::now();
    ExecutionResult result;
    if (deadline_ && startedAt_ >= *deadline_) {
      result.status = missed("before the execution began");
    } else {
      result = guarded(call);
    }
    if (!call.options.measureTiming) result.timing = {};
    finish(std::move(result.status), result.timing, std::move(call));
  }

  static ExecutionResult guarded(const FencedCall& call) {
    ExecutionResult result;
    try {
      return call.run(call.options);
    } catch (...) {
      result.status = statusOfException();
    }
    return result;
  }

  // A driver reports only the time of the run. This adds the time before the run.
  Timing including(TimePoint from, const Timing& timing) const {
    Timing whole = timing;
    if (whole.timeInDriver) *whole.timeInDriver += nanosecondsBetween(from, startedAt_);
    return whole;
  }

  static void stopWatching(FenceService& service, uint64_t watch) {
    if (watch == 0) return;
    if (const Result<FencePoller*> poller = service.poller(); poller.ok()) (*poller)->cancel(watch);
  }

  // A running execution is stopped by its own token and uses its memory until then.
  void finishUnlessRunning(Status status) {
    FencedCall call;
    std::shared_ptr<FenceService> service;
    {
      const std::lock_guard lock(mutex_);
      if (running_) return;
      running_ = true;  // so that no thread begins the execution
      call = std::move(call_);
      service = service_;
    }
    // The run may be the last owner of a model, and this thread may be one that must not block.
    service->executor().dispose(
        std::make_shared<decltype(call.run)>(std::exchange(call.run, nullptr)));
    finish(std::move(status), {}, std::move(call));
  }

  // The thread that has set running_ calls this once. The fence changes last, because the client
  // may then read the result and use the memory.
  void finish(Status status, const Timing& timing, FencedCall call) {
    const bool ok = status.ok();
    FenceSignaller signaller;
    std::shared_ptr<FenceService> service;
    uint64_t watch = 0;
    {
      const std::lock_guard lock(mutex_);
      info_.status = std::move(status);
      if (ok) {
        info_.launched = including(launchedAt_, timing);
        info_.fenced = including(signalledAt_, timing);
      }
      signaller = std::move(signaller_);
      service = std::move(service_);
      watch = std::exchange(watch_, 0);
      done_ = true;
    }
    stopWatching(*service, watch);
    call.run = nullptr;
    call.limit->giveBack(descriptors_);
    if (ok) {
      signaller.signal();
    } else {
      signaller.fail();
    }
  }

  const TimePoint launchedAt_;
  const std::optional<std::chrono::nanoseconds> duration_;
  const Priority priority_;
  const size_t descriptors_;
  std::optional<TimePoint> deadline_;  // includes the duration, once all fences are signalled
  TimePoint signalledAt_;              // when the last fence was signalled
  TimePoint startedAt_;                // when the run began
  std::mutex mutex_;                   // guards the members below, except onEnd_
  std::shared_ptr<FenceService> service_;
  FencedCall call_;
  FenceSignaller signaller_;
  uint64_t watch_ = 0;    // number at the poller; 0: no watch
  bool running_ = false;  // the run has begun, or the execution ends without a run
  bool done_ = false;
  FencedInfo info_;
  std::optional<std::stop_callback<std::function<void()>>> onEnd_;
};

class Completed final : public FencedExecution {
 public:
  explicit Completed(FencedInfo info) : info_(std::move(info)) {}
  FencedInfo getExecutionInfo() override { return info_; }

 private:
  const FencedInfo info_;
};

FencedResult failedFenced(Status status) { return {std::move(status), {}, nullptr}; }

Status checkAccess(const Request& request, const std::vector<RequestArgument>& arguments,
                   int needed, std::string_view kind) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind != RequestArgument::Kind::POOL) continue;
    const uint32_t index = arguments[i].location.poolIndex;
    const auto* const memory = std::get_if<SharedMemoryPtr>(&request.pools[index]);
    if (memory == nullptr || ((*memory)->prot() & needed) != 0) continue;
    return badData("request {} {}: memory pool {} is not {}", kind, i, index,
                   needed == PROT_WRITE ? "writable" : "readable");
  }
  return okStatus();
}

Status checkOutputRoom(const Model& model, const Request& request) {
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    const RequestArgument& argument = request.outputs[i];
    if (argument.kind == RequestArgument::Kind::NO_VALUE) continue;
    const Operand& operand = model.main.operands[model.main.outputIndexes[i]];
    const Shape& dimensions =
        argument.dimensions.empty() ? operand.dimensions : argument.dimensions;
    const std::optional<uint32_t> needed = knownByteSize(operand.type, dimensions);
    uint64_t length = argument.length;
    if (argument.kind == RequestArgument::Kind::POOL) {
      const RequestPool& pool = request.pools[argument.location.poolIndex];
      const auto* memory = std::get_if<SharedMemoryPtr>(&pool);
      if (memory == nullptr) continue;  // a token: the size of its buffer is not known here
      const bool whole = argument.location.offset == 0 && argument.location.length == 0;
      length = whole ? (*memory)->size() : argument.location.length;
    }
    if (needed && *needed > length) {
      return badData("request output {}: {} bytes for {}{}, which needs {}", i, length,
                     operandTypeName(operand.type), shapeText(dimensions), *needed);
    }
  }
  return okStatus();
}

}  // namespace

Result<FencePoller*> FenceService::poller() {
  const std::lock_guard lock(mutex_);
  if (poller_ == nullptr) {
    HALYARD_ASSIGN_OR_RETURN(poller_, FencePoller::start());
  }
  return poller_.get();
}

std::shared_ptr<FencedLimit> FenceService::openClient() {
  // FencedLimit::kMaxDescriptors limits the number of waiting executions.
  return std::make_shared<FencedLimit>(
      executor_->openLane({.queued = SIZE_MAX, .running = FencedLimit::kMaxRunning}));
}

Status FencedLimit::take(size_t descriptors) {
  if (taken_.fetch_add(descriptors) + descriptors > kMaxDescriptors) {
    taken_ -= descriptors;
    return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                      "pending fenced executions hold {} descriptors already; at most {} are "
                      "granted to a client",
                      taken_.load(), kMaxDescriptors);
  }
  return okStatus();
}

Status validateFencedRequest(const Model& model, const Request& request) {
  HALYARD_RETURN_IF_ERROR(validateRequest(model, request, false));
  HALYARD_RETURN_IF_ERROR(checkAccess(request, request.inputs, PROT_READ, "input"));
  HALYARD_RETURN_IF_ERROR(checkAccess(request, request.outputs, PROT_WRITE, "output"));
  return checkOutputRoom(model, request);
}

Result<std::vector<ForeignFd>> takePending(std::span<const int> waitFor) {
  std::vector<ForeignFd> pending;
  for (size_t i = 0; i < waitFor.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const FenceState state, fenceState(waitFor[i]), "fence {} of {}", i,
                             waitFor.size());
    if (state == FenceState::ERROR) {
      return badData("fence {} of {} is in its error state", i, waitFor.size());
    }
    if (state == FenceState::SIGNALLED) continue;
    pending.push_back(ForeignFd::duplicateOf(waitFor[i]));
    if (!pending.back().valid()) {
      return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno,
                         fmt::format("duplicating fence {} of {}", i, waitFor.size()));
    }
  }
  return pending;
}

FencedResult startFenced(std::shared_ptr<FenceService> service, FencedCall call,
                         std::vector<ForeignFd> pending) {
  if (call.options.deadline && Clock::now() >= *call.options.deadline) {
    return failedFenced(missed("before the execution began"));
  }
  if (call.ended.stop_requested()) return failedFenced(clientGone());
  const size_t descriptors = call.descriptors + pending.size() + 1;
  Status taken = call.limit->take(descriptors);
  if (!taken.ok()) return failedFenced(std::move(taken));
  Result<NewFence> made = createFence();
  if (!made.ok()) {
    call.limit->giveBack(descriptors);
    return failedFenced(made.takeStatus());
  }
  const auto run = std::make_shared<FencedRun>(std::move(service), std::move(call), descriptors,
                                               std::move(made->signaller));
  Status started = run->start(std::move(pending));
  if (!started.ok()) return failedFenced(std::move(started));
  return {okStatus(), std::move(made->fence), run};
}

FencedResult runAtOnce(const std::function<ExecutionResult(const ExecuteOptions&)>& run,
                       const ExecuteOptions& options,
                       std::optional<std::chrono::nanoseconds> duration) {
  ExecuteOptions own = options;
  const TimePoint now = Clock::now();
  if (duration)
    own.deadline = std::min(own.deadline.value_or(TimePoint::max()), after(now, *duration));
  if (own.deadline && now >= *own.deadline)
    return failedFenced(missed("before the execution began"));
  ExecutionResult done = run(own);
  if (!done.status.ok()) return failedFenced(std::move(done.status));
  return {okStatus(), {}, completedExecution({okStatus(), done.timing, done.timing})};
}

std::shared_ptr<FencedExecution> completedExecution(FencedInfo info) {
  return std::make_shared<Completed>(std::move(info));
}

}  // namespace halyard::hal

#include "hal/client/remote_fenced.h"

#include <algorithm>

#include "hal/client/driver_connection.h"
#include "hal/wire/wire_fence.h"
#include "hal/wire/wire_memory.h"
#include "hal/wire/wire_request.h"

namespace halyard::hal {
namespace {

using Side = DriverConnection::Side;

// The client gives up this time after the driver should, so that the driver can report the error
// itself.
constexpr std::chrono::milliseconds kFenceGrace{5};

// `time` + `duration` + the grace time, at most the latest time.
TimePoint endAfter(TimePoint time, std::chrono::nanoseconds duration) {
  const auto left = TimePoint::max() - time;
  return left <= kFenceGrace || duration >= left - kFenceGrace ? TimePoint::max()
                                                               : time + duration + kFenceGrace;
}

// An execution in a driver, with its key in Side::fencedExecutions.
class RemoteExecution final : public FencedExecution {
 public:
  RemoteExecution(std::shared_ptr<DriverConnection> connection, uint64_t key)
      : connection_(std::move(connection)), key_(key) {}
  ~RemoteExecution() override {
    connection_->later([key = key_](Side& side) { side.fencedExecutions.erase(key); });
  }
  RemoteExecution(const RemoteExecution&) = delete;
  RemoteExecution& operator=(const RemoteExecution&) = delete;

  FencedInfo getExecutionInfo() override {
    Result<FencedInfo> info = connection_->call<FencedInfo>(
        "getExecutionInfo", [key = key_](Side& side) -> kj::Promise<Result<FencedInfo>> {
          return side.fencedExecutions.at(key).getExecutionInfoRequest().send().then(
              [](auto&& response) -> Result<FencedInfo> {
                FencedInfo known;
                known.status = fromWireStatus(response.getStatus(), response.getMessage());
                if (!known.status.ok()) return known;
                known.launched = decodeTiming(response.getTimingLaunched());
                known.fenced = decodeTiming(response.getTimingFenced());
                return known;
              });
        });
    if (!info.ok()) return {info.takeStatus(), {}, {}};
    info->status.annotate(fmt::format("driver '{}'", connection_->name()));
    return std::move(*info);
  }

 private:
  const std::shared_ptr<DriverConnection> connection_;
  const uint64_t key_;
};

// An execution with a fence of this process in place of the driver's. The fence ends in time even
// if the driver does nothing, and closing it cannot block.
class GuardedExecution final : public FencedExecution,
                               public std::enable_shared_from_this<GuardedExecution> {
 public:
  GuardedExecution(std::shared_ptr<FencedExecution> execution, FenceSignaller signaller,
                   std::shared_ptr<DriverConnection> connection,
                   std::shared_ptr<FenceService> service)
      : execution_(std::move(execution)),
        connection_(std::move(connection)),
        service_(std::move(service)),
        signaller_(std::move(signaller)) {}

  // Watches the driver's fence. `pending`: the fences after which a duration begins. Without a
  // deadline and a duration, the driver's execution limit is the duration.
  Status start(ForeignFd fence, std::vector<ForeignFd> pending, std::optional<TimePoint> deadline,
               std::optional<std::chrono::nanoseconds> duration) {
    const std::shared_ptr<FenceService> service = service_;
    HALYARD_ASSIGN_OR_RETURN(FencePoller* const poller, service->poller());
    isBounded_ = deadline || duration;
    if (!isBounded_) duration = connection_->executionLimit();
    std::optional<TimePoint> end;
    if (deadline) end = endAfter(*deadline, {});
    if (duration && pending.empty()) {
      const TimePoint other = endAfter(Clock::now(), *duration);
      end = end ? std::min(*end, other) : other;
      duration.reset();
    }
    std::vector<ForeignFd> own;
    own.push_back(std::move(fence));
    HALYARD_RETURN_IF_ERROR(
        poller
            ->watch(std::move(own), end,
                    [self = shared_from_this()](FenceState state) { self->end(state); })
            .status());
    if (!duration) return okStatus();
    // The driver itself reports an error of these fences.
    return poller
        ->watch(std::move(pending), std::nullopt,
                [weak = weak_from_this(), poller, duration = *duration](FenceState state) {
                  if (state != FenceState::SIGNALLED || weak.expired()) return;
                  (void)poller->watch({}, endAfter(Clock::now(), duration), [weak](FenceState) {
                    if (const auto self = weak.lock()) self->end(FenceState::PENDING);
                  });
                })
        .status();
  }

  FencedInfo getExecutionInfo() override {
    {
      const std::lock_guard lock(mutex_);
      if (late_) {
        return {makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT,
                           "driver '{}' has not ended the execution within its time",
                           connection_->name()),
                {},
                {}};
      }
    }
    return execution_->getExecutionInfo();
  }

 private:
  void end(FenceState state) {
    FenceSignaller signaller;
    std::shared_ptr<FenceService> service;
    {
      const std::lock_guard lock(mutex_);
      if (!signaller_.pending()) return;
      late_ = state == FenceState::PENDING && isBounded_;
      signaller = std::move(signaller_);
      service = std::move(service_);
    }
    if (state == FenceState::SIGNALLED) return signaller.signal();
    // The driver is marked dead before a waiting thread asks it about the execution.
    if (state == FenceState::PENDING && !isBounded_) connection_->declareHung("executeFenced");
    signaller.fail();
  }

  const std::shared_ptr<FencedExecution> execution_;
  const std::shared_ptr<DriverConnection> connection_;
  bool isBounded_ = false;
  std::mutex mutex_;
  std::shared_ptr<FenceService> service_;  // null after the end
  FenceSignaller signaller_;
  bool late_ = false;
};

struct Launched {
  ForeignFd fence;
  uint64_t key = 0;
};

kj::Promise<Result<Launched>> take(
    Side& side, capnp::Response<wire::v1_3::IPreparedModel::ExecuteFencedResults>&& response) {
  using Answer = Result<Launched>;
  Status status = fromWireStatus(response.getStatus(), response.getMessage());
  if (!status.ok()) return Answer(std::move(status));
  if (!response.hasCallback()) return Answer(opFailed("it reports success without a callback"));
  const bool hasFence = response.hasSyncFence();
  auto fence =
      hasFence ? duplicateFd(response.getSyncFence()) : kj::Promise<ForeignFd>(ForeignFd());
  return fence.then([&side, hasFence,
                     callback = response.getCallback()](ForeignFd received) mutable -> Answer {
    if (hasFence) {
      HALYARD_RETURN_IF_ERROR(fenceState(received.get()).status().withCode(ResultCode::OP_FAILED),
                              "the fence that it returned");
    }
    const uint64_t key = side.nextFencedExecution++;
    side.fencedExecutions.emplace(key, kj::mv(callback));
    return Launched{std::move(received), key};
  });
}

Result<Launched> launch(DriverConnection& connection, uint64_t id, const Request& request,
                        const std::vector<ForeignFd>& waitFor, const ExecuteOptions& options,
                        std::optional<std::chrono::nanoseconds> duration) {
  return connection.call<Launched>(
      "executeFenced",
      [&](Side& side) -> kj::Promise<Result<Launched>> {
        const auto it = side.preparedModels.find(id);
        if (it == side.preparedModels.end()) {
          return Result<Launched>(badState("the prepared model is not known any more"));
        }
        auto call = it->second.castAs<wire::v1_3::IPreparedModel>().executeFencedRequest();
        encodeRequest(request, call.initRequest());
        auto fences = call.initWaitFor(static_cast<unsigned>(waitFor.size()));
        for (unsigned i = 0; i < waitFor.size(); ++i) {
          fences.set(i, encodeFence(waitFor[i].duplicate()));
        }
        call.setMeasure(options.measureTiming ? wire::MeasureTiming::YES : wire::MeasureTiming::NO);
        encodeDeadline(options.deadline, call.initDeadline());
        encodeDuration(options.loopTimeout, call.initLoopTimeoutDuration());
        encodeDuration(duration, call.initDuration());
        putAttributes(options.attributes, call);
        return call.send().then([&side](auto&& response) { return take(side, kj::mv(response)); });
      },
      CallLimit::prompt(), {.phase = trace::Phase::EXECUTION, .openEnded = true});
}

}  // namespace

FencedResult executeFencedRemotely(const std::shared_ptr<DriverConnection>& connection, uint64_t id,
                                   const Request& request, std::vector<ForeignFd> waitFor,
                                   const ExecuteOptions& options,
                                   std::optional<std::chrono::nanoseconds> duration,
                                   std::shared_ptr<FenceService> service) {
  Result<Launched> launched = launch(*connection, id, request, waitFor, options, duration);
  if (!launched.ok()) return {launched.takeStatus(), {}, nullptr};
  auto execution = std::make_shared<RemoteExecution>(connection, launched->key);
  if (!launched->fence.valid()) return {okStatus(), {}, std::move(execution)};
  Result<NewFence> made = createFence();
  if (!made.ok()) return {made.takeStatus(), {}, nullptr};
  const auto guarded = std::make_shared<GuardedExecution>(
      std::move(execution), std::move(made->signaller), connection, std::move(service));
  Status started =
      guarded->start(std::move(launched->fence), std::move(waitFor), options.deadline, duration);
  if (!started.ok()) return {std::move(started), {}, nullptr};
  return {okStatus(), std::move(made->fence), guarded};
}

}  // namespace halyard::hal

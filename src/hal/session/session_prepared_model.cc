#include "hal/session/session_prepared_model.h"

#include <algorithm>
#include <limits>

#include "hal/checks/result_check.h"
#include "hal/core/driver_exception.h"
#include "hal/core/failed_execution.h"
#include "hal/session/cache_files.h"
#include "hal/session/client_session.h"
#include "hal/session/session_burst.h"

namespace halyard::hal {
namespace {

// Offset 0 with length 0 means a whole pool. Returns the request with real lengths, if it has such
// an argument.
std::optional<Request> bindWholePools(const Request& request) {
  const auto isWhole = [](const RequestArgument& argument) {
    return argument.kind == RequestArgument::Kind::POOL && argument.location.offset == 0 &&
           argument.location.length == 0;
  };
  if (std::none_of(request.inputs.begin(), request.inputs.end(), isWhole) &&
      std::none_of(request.outputs.begin(), request.outputs.end(), isWhole)) {
    return std::nullopt;
  }
  Request bound = request;
  for (auto* arguments : {&bound.inputs, &bound.outputs}) {
    for (RequestArgument& argument : *arguments) {
      if (!isWhole(argument)) continue;
      const auto* const memory =
          std::get_if<SharedMemoryPtr>(&bound.pools[argument.location.poolIndex]);
      if (memory == nullptr) continue;
      const SharedMemoryPtr& pool = *memory;
      argument.location.length = static_cast<uint32_t>(
          std::min<uint64_t>(pool->size(), std::numeric_limits<uint32_t>::max()));
    }
  }
  return bound;
}

}  // namespace

SessionPreparedModel::SessionPreparedModel(std::shared_ptr<SessionState> session,
                                           std::shared_ptr<const Model> model,
                                           std::shared_ptr<PreparedModel> driver,
                                           const PrepareOptions& options, Quota::Charge charge)
    : session_(std::move(session)),
      model_(std::move(model)),
      driver_(std::move(driver)),
      priority_(options.priority),
      id_(session_->nextModel++),
      sizes_(*model_, session_->device->info().extensions),
      charge_(std::move(charge)) {}

ExecutionResult SessionPreparedModel::executeSynchronously(const Request& request,
                                                           const ExecuteOptions& options) {
  const bool mayBeUnspecified = session_->device->info().halVersion >= HalVersion::V1_2;
  Status valid = validateRequest(*model_, request, mayBeUnspecified);
  if (!valid.ok()) return failed(std::move(valid));
  ExecutionResult result = session_->buffers->execute(
      id_, request, [&](const Request& own) { return executeOnDriver(own, options); });
  normalise(result, options.measureTiming);
  return result;
}

ExecutionResult SessionPreparedModel::executeOnDriver(const Request& request,
                                                      const ExecuteOptions& options) {
  const std::optional<Request> bound = bindWholePools(request);
  return takeTurn(request, options, [&](const ExecuteOptions& own) {
    return driver_->executeSynchronously(bound ? *bound : request, own);
  });
}

// For a request without buffers, which is the same for each computation.
class SessionPreparedModel::Reusable final : public ReusableExecution {
 public:
  Reusable(SessionPreparedModel& preparedModel, const Request& request)
      : preparedModel_(preparedModel), request_(request), bound_(bindWholePools(request)) {}
  Status create() {
    HALYARD_ASSIGN_OR_RETURN(
        driver_, guarded([&] {
          return preparedModel_.driver_->createReusableExecution(bound_ ? *bound_ : request_);
        }));
    return driver_ != nullptr ? okStatus() : opFailed("the driver created no execution");
  }
  ExecutionResult compute(const ExecuteOptions& options) override {
    ExecutionResult result = preparedModel_.takeTurn(
        request_, options, [&](const ExecuteOptions& own) { return driver_->compute(own); });
    normalise(result, options.measureTiming);
    return result;
  }

 private:
  SessionPreparedModel& preparedModel_;
  const Request& request_;
  const std::optional<Request> bound_;
  std::unique_ptr<ReusableExecution> driver_;
};

// A request whose buffers change their memory or dimensions more often than this is not recorded.
constexpr unsigned kMostChanges = 8;

// For a request with buffers. The driver records it with the memory of the buffers in place of the
// tokens. A change of that memory or of the dimensions makes it record again.
class SessionPreparedModel::ReusableWithBuffers final : public ReusableExecution {
 public:
  ReusableWithBuffers(SessionPreparedModel& preparedModel, const Request& request)
      : preparedModel_(preparedModel), request_(request) {}
  ExecutionResult compute(const ExecuteOptions& options) override {
    const SessionPreparedModel& model = preparedModel_;
    ExecutionResult result = model.session_->buffers->execute(
        model.id_, request_, [&](const Request& own) { return computeOnDriver(own, options); });
    normalise(result, options.measureTiming);
    return result;
  }

 private:
  ExecutionResult computeOnDriver(const Request& own, const ExecuteOptions& options) {
    if (changes_ > kMostChanges) return preparedModel_.executeOnDriver(own, options);
    if (driver_ == nullptr || own != recorded_) {
      ++changes_;
      driver_ = nullptr;  // it refers to the old request
      recorded_ = own;
      driver_ = std::make_unique<Reusable>(preparedModel_, recorded_);
      Status created = driver_->create();
      if (!created.ok()) {
        driver_ = nullptr;
        return failed(std::move(created));
      }
    }
    return driver_->compute(options);
  }

  SessionPreparedModel& preparedModel_;
  const Request& request_;
  unsigned changes_ = 0;
  Request recorded_;
  std::unique_ptr<Reusable> driver_;  // refers to recorded_
};

Result<std::unique_ptr<ReusableExecution>> SessionPreparedModel::createReusableExecution(
    const Request& request) {
  const bool hasTokens = std::ranges::any_of(request.pools, [](const RequestPool& pool) {
    return std::holds_alternative<uint32_t>(pool);
  });
  const bool mayBeUnspecified = session_->device->info().halVersion >= HalVersion::V1_2;
  HALYARD_RETURN_IF_ERROR(validateRequest(*model_, request, mayBeUnspecified));
  if (hasTokens) {
    return std::unique_ptr<ReusableExecution>(
        std::make_unique<ReusableWithBuffers>(*this, request));
  }
  auto execution = std::make_unique<Reusable>(*this, request);
  HALYARD_RETURN_IF_ERROR(execution->create());
  return std::unique_ptr<ReusableExecution>(std::move(execution));
}

template <typename Work>
ExecutionResult SessionPreparedModel::takeTurn(const Request& request,
                                               const ExecuteOptions& options, Work work) {
  if (options.deadline && Clock::now() >= *options.deadline) {
    return failed(makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT,
                             "the deadline has passed before the execution began"));
  }
  const auto charge = session_->quota->charge(Quota::Resource::EXECUTIONS, 1);
  if (!charge.ok()) return failed(charge.status());
  ExecuteOptions own = options;
  if (!own.cancel.stop_possible()) own.cancel = session_->cancel.get_token();
  if (own.cancel.stop_requested()) return failed(opFailed("cancelled before the execution began"));
  ExecutionResult result;
  Status thrown;
  const auto turn = [&] {
    const trace::RecorderUse use(session_->trace.get());
    const trace::Scope mark(trace::Layer::DRIVER, trace::Phase::EXECUTION, "execute",
                            {.context = traceContext_.load(std::memory_order_relaxed)});
    thrown = guarded([&] {
      result = work(own);
      return okStatus();
    });
  };
  Status done = session_->services->takeTurn(priority_, session_->lane, own.deadline, own.cancel,
                                             std::ref(turn));
  if (done.ok()) done = std::move(thrown);
  if (!done.ok()) return failed(std::move(done));
  checkResult(*model_, request, sizes_, result);
  return result;
}

FencedResult SessionPreparedModel::executeFenced(const Request& request,
                                                 std::span<const int> waitFor,
                                                 const ExecuteOptions& options,
                                                 std::optional<std::chrono::nanoseconds> duration) {
  return executeFenced(request, waitFor, options, duration,
                       [self = shared_from_this(), request](const ExecuteOptions& own) {
                         return self->executeSynchronously(request, own);
                       });
}

FencedResult SessionPreparedModel::executeFenced(
    const Request& request, std::span<const int> waitFor, const ExecuteOptions& options,
    std::optional<std::chrono::nanoseconds> duration,
    std::function<ExecutionResult(const ExecuteOptions&)> run) {
  // For clients in this process. For other clients setTraceContext does it.
  if (const uint64_t context = trace::currentContext(); context != 0) traceContext_ = context;
  Status valid = validateFencedRequest(*model_, request);
  if (valid.ok()) valid = session_->buffers->checkUses(id_, request);
  if (!valid.ok()) return {std::move(valid), {}, nullptr};
  Result<std::vector<ForeignFd>> pending = takePending(waitFor);
  if (!pending.ok()) return {pending.takeStatus(), {}, nullptr};
  if (session_->device->info().halVersion < HalVersion::V1_3 && pending->empty()) {
    return runAtOnce(run, options, duration);
  }
  FencedCall call;
  call.run = std::move(run);
  call.options = options;
  call.duration = duration;
  call.priority = priority_;
  call.ended = session_->cancel.get_token();
  call.limit = session_->fencedLimit;
  call.descriptors = request.pools.size();
  return startFenced(session_->services->fences(), std::move(call), std::move(*pending));
}

Status SessionPreparedModel::saveToCache(int modelCache, int dataCache, const Token& token) {
  // The HAL determines this order: first a driver without caching, then the arguments, then the
  // call of the driver.
  const DeviceInfo& info = session_->device->info();
  if (info.modelCacheFiles + info.dataCacheFiles == 0) {
    return opFailed("the driver does not save compilations");
  }
  HALYARD_RETURN_IF_ERROR(checkEmptyFile(modelCache), "model cache file");
  HALYARD_RETURN_IF_ERROR(checkEmptyFile(dataCache), "data cache file");
  return guarded([&] { return driver_->saveToCache(modelCache, dataCache, token); });
}

Result<std::unique_ptr<Burst>> SessionPreparedModel::configureBurst() {
  if (!session_->device->info().bursts) return noBursts();
  return std::unique_ptr<Burst>(std::make_unique<SessionBurst>(shared_from_this()));
}

}  // namespace halyard::hal

#include "hal/client/remote_prepared_model.h"

#include "hal/checks/result_check.h"
#include "hal/client/remote_burst.h"
#include "hal/client/remote_callbacks.h"
#include "hal/client/remote_fenced.h"
#include "hal/core/version_adaptation.h"
#include "hal/wire/wire_memory.h"
#include "hal/wire/wire_request.h"

namespace halyard::hal {
namespace {

using Side = DriverConnection::Side;
using ExecutionPromise = kj::Promise<Result<ExecutionResult>>;

wire::MeasureTiming measureOf(const ExecuteOptions& options) {
  return options.measureTiming ? wire::MeasureTiming::YES : wire::MeasureTiming::NO;
}

ExecuteOptions withoutAttributes(ExecuteOptions options) {
  options.attributes = {};
  return options;
}

template <typename Call>
ExecutionPromise sendSynchronous(Call call, const Request& request, size_t outputs) {
  encodeRequest(request, call.initRequest());
  return call.send().then([outputs](auto&& response) -> Result<ExecutionResult> {
    return decodeExecution(response, outputs);
  });
}

ExecutionPromise execute13(wire::v1_3::IPreparedModel::Client client, const Request& request,
                           const ExecuteOptions& options, size_t outputs) {
  auto call = client.executeSynchronously13Request();
  call.setMeasure(measureOf(options));
  encodeDeadline(options.deadline, call.initDeadline());
  encodeDuration(options.loopTimeout, call.initLoopTimeoutDuration());
  putAttributes(options.attributes, call);
  return sendSynchronous(kj::mv(call), request, outputs);
}

ExecutionPromise execute12(wire::v1_2::IPreparedModel::Client client, const Request& request,
                           const ExecuteOptions& options, size_t outputs) {
  auto call = client.executeSynchronouslyRequest();
  call.setMeasure(measureOf(options));
  return sendSynchronous(kj::mv(call), request, outputs);
}

// HAL 1.0 and 1.1 have only asynchronous execution.
ExecutionPromise execute10(Side& side, wire::v1_0::IPreparedModel::Client client,
                           const Request& request, size_t outputs) {
  auto call = client.executeRequest();
  encodeRequest(request, call.initRequest());
  auto result = kj::newPromiseAndFulfiller<ExecutionResult>();
  call.setCallback(kj::heap<ExecutionCallback>(kj::mv(result.fulfiller), outputs));
  return call.send().then(
      [&side, promise = kj::mv(result.promise)](auto&& response) mutable -> ExecutionPromise {
        Status launched = fromWireStatus(response.getStatus(), response.getMessage());
        if (!launched.ok()) return Result<ExecutionResult>(std::move(launched));
        return side.orDisconnected(promise.then(
            [](ExecutionResult&& done) -> Result<ExecutionResult> { return kj::mv(done); }));
      });
}

}  // namespace

RemotePreparedModel::RemotePreparedModel(Parts parts, uint64_t id)
    : connection_(std::move(parts.connection)),
      model_(std::move(parts.model)),
      version_(parts.version),
      takesAttributes_(parts.takesAttributes),
      priority_(parts.priority),
      fencing_(std::move(parts.fencing)),
      sizes_(std::move(parts.sizes)),
      id_(id) {}

RemotePreparedModel::~RemotePreparedModel() { connection_->release(id_); }

ExecutionResult RemotePreparedModel::executeSynchronously(const Request& request,
                                                          const ExecuteOptions& options) {
  std::unique_ptr<RingLane> lane = usesRings_ ? lanes_.borrow() : nullptr;
  ExecutionResult result = executeIn(lane.get(), request, options);
  if (lane != nullptr) lanes_.giveBack(std::move(lane));
  return result;
}

Result<std::unique_ptr<Burst>> RemotePreparedModel::configureBurst() {
  auto lane = std::make_shared<RingLane>();
  HALYARD_RETURN_IF_ERROR(lane->open(connection_, id_, version_, std::nullopt));
  return std::unique_ptr<Burst>(std::make_unique<RemoteBurst>(shared_from_this(), std::move(lane)));
}

ExecutionResult RemotePreparedModel::executeIn(RingLane* lane, const Request& request,
                                               const ExecuteOptions& options) {
  if (!takesAttributes_ && !options.attributes.empty()) {
    return executeIn(lane, request, withoutAttributes(options));
  }
  Result<ExecutionResult> result = executeRemotely(lane, request, options);
  if (result.ok()) return std::move(*result);
  return {result.takeStatus(), {}, {}};
}

Status RemotePreparedModel::check(const Request& request) const {
  HALYARD_RETURN_IF_ERROR(compliantWith(request, version_), "driver '{}'", connection_->name());
  return validateRequest(*model_, request, version_ >= HalVersion::V1_2);
}

std::optional<TimePoint> RemotePreparedModel::deadlineOf(const ExecuteOptions& options) const {
  return version_ >= HalVersion::V1_3 ? options.deadline : std::nullopt;
}

Status RemotePreparedModel::begin(RingLane* lane, const ExecuteOptions& options) {
  const auto deadline = deadlineOf(options);
  if (deadline && Clock::now() >= *deadline) {
    return makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT,
                      "driver '{}': the deadline has passed before the execution began",
                      connection_->name());
  }
  if (lane == nullptr) return okStatus();
  HALYARD_RETURN_IF_ERROR(lane->open(connection_, id_, version_, deadline), "driver '{}'",
                          connection_->name());
  return okStatus();
}

Result<ExecutionResult> RemotePreparedModel::executeRemotely(RingLane* lane, const Request& request,
                                                             const ExecuteOptions& options) {
  if (trace::isActive()) nameInTrace();
  const trace::Scope mark(trace::Layer::IPC, trace::Phase::EXECUTION, "execute",
                          connection_->traceDetails());
  HALYARD_RETURN_IF_ERROR(check(request));
  HALYARD_RETURN_IF_ERROR(begin(lane, options));
  ArgumentPacker& packer = lane != nullptr ? lane->packer : packer_;
  auto packed = [&] {
    const trace::Scope part(trace::Layer::IPC, trace::Phase::TRANSFORMATION, "pack arguments");
    return packer.pack(request);
  }();
  HALYARD_RETURN_IF_ERROR(packed.status());
  return carry(lane, *packed, 0, options);
}

Result<ExecutionResult> RemotePreparedModel::carry(RingLane* lane,
                                                   ArgumentPacker::PackedRequest& packed,
                                                   uint64_t key, const ExecuteOptions& options) {
  const char* const method = version_ >= HalVersion::V1_3   ? "executeSynchronously_1_3"
                             : version_ >= HalVersion::V1_2 ? "executeSynchronously"
                                                            : "execute";
  trace::Scope part(trace::Layer::IPC, trace::Phase::EXECUTION, "wait for the driver");
  ExecutionResult result;
  bool done = false;
  bool named = false;
  if (lane != nullptr && lane->ring != nullptr && lane->ring->takes(packed.request(), options)) {
    const size_t outputs = model_->main.outputIndexes.size();
    RemoteRing& ring = *lane->ring;
    auto outcome = key != 0 ? ring.executeRecorded(key, packed.request(), options, outputs, method)
                            : ring.execute(packed.request(), options, outputs, method);
    if (outcome.state == RemoteRing::Outcome::State::LOST) {
      packed.abandon();
      lane->ring.reset();
    }
    done = outcome.state != RemoteRing::Outcome::State::NOT_SENT;
    named = outcome.namesDriver;
    result = std::move(outcome.result);
  }
  if (!done) {
    Result<ExecutionResult> answer = call(method, packed.request(), options, deadlineOf(options));
    if (!answer.ok()) {
      packed.abandon();
      return answer.takeStatus();
    }
    result = std::move(*answer);
  }
  // The methods of HAL 1.0 and 1.1 return only a status.
  if (version_ >= HalVersion::V1_2 || result.status.ok()) {
    checkResult(*model_, packed.request(), sizes_, result);
  }
  if (!result.status.ok() && !named && result.status.code() != ResultCode::DEAD_OBJECT) {
    result.status.annotate(fmt::format("driver '{}'", connection_->name()));
  }
  part.switchTo(trace::Phase::TRANSFORMATION, "unpack results");
  packed.unpack(*model_, result);
  return result;
}

// Has its own memory for the arguments, so that a ring's driver may keep the request. The key names
// the request with that memory.
class RemotePreparedModel::Reusable final : public ReusableExecution {
 public:
  // Without a burst's lane, each computation borrows a lane of the prepared model.
  Reusable(std::shared_ptr<RemotePreparedModel> preparedModel, std::shared_ptr<RingLane> lane,
           const Request& request)
      : preparedModel_(std::move(preparedModel)), lane_(std::move(lane)), request_(request) {}
  ~Reusable() override { endRecordings(); }

  ExecutionResult compute(const ExecuteOptions& options) override {
    RemotePreparedModel& model = *preparedModel_;
    std::unique_ptr<RingLane> borrowed;
    if (lane_ == nullptr && model.usesRings_) borrowed = model.lanes_.borrow();
    RingLane* const lane = lane_ != nullptr ? lane_.get() : borrowed.get();
    const bool drops = !model.takesAttributes_ && !options.attributes.empty();
    Result<ExecutionResult> result = computeIn(lane, drops ? withoutAttributes(options) : options);
    if (borrowed != nullptr) model.lanes_.giveBack(std::move(borrowed));
    if (packed_ && packed_->isAbandoned()) {
      // The driver may still use the memory. The next computation gets other memory, and is a new
      // request for the driver.
      packed_.reset();
      endRecordings();
    }
    if (result.ok()) return std::move(*result);
    return {result.takeStatus(), {}, {}};
  }

 private:
  Result<ExecutionResult> computeIn(RingLane* lane, const ExecuteOptions& options) {
    RemotePreparedModel& model = *preparedModel_;
    if (trace::isActive()) model.nameInTrace();
    const trace::Scope mark(trace::Layer::IPC, trace::Phase::EXECUTION, "execute",
                            model.connection_->traceDetails());
    HALYARD_RETURN_IF_ERROR(model.begin(lane, options));
    HALYARD_RETURN_IF_ERROR(pack());
    if (lane != nullptr && lane->ring != nullptr) note(lane->ring->recordings());
    return model.carry(lane, *packed_, key_, options);
  }
  Status pack() {
    const trace::Scope part(trace::Layer::IPC, trace::Phase::TRANSFORMATION, "pack arguments");
    if (packed_) {
      packed_->repeat(request_);
      return okStatus();
    }
    auto packed = packer_.pack(request_);
    HALYARD_RETURN_IF_ERROR(packed.status());
    packed_.emplace(std::move(*packed));
    static std::atomic<uint64_t> lastKey = 0;
    key_ = ++lastKey;
    return okStatus();
  }
  // Remembers a ring that may have a recording of the request.
  void note(const std::shared_ptr<RecordingNumbers>& ring) {
    for (const auto& known : rings_) {
      if (!known.owner_before(ring) && !ring.owner_before(known)) return;
    }
    std::erase_if(rings_, [](const auto& known) { return known.expired(); });
    rings_.push_back(ring);
  }
  void endRecordings() {
    for (const auto& known : rings_) {
      if (const auto ring = known.lock()) ring->release(key_);
    }
    rings_.clear();
  }

  const std::shared_ptr<RemotePreparedModel> preparedModel_;
  const std::shared_ptr<RingLane> lane_;
  const Request& request_;
  ArgumentPacker packer_;
  std::optional<ArgumentPacker::PackedRequest> packed_;  // returns its memory to packer_
  uint64_t key_ = 0;
  std::vector<std::weak_ptr<RecordingNumbers>> rings_;
};

Result<std::unique_ptr<ReusableExecution>> RemotePreparedModel::createReusableExecution(
    const Request& request) {
  return recordIn(nullptr, request);
}

Result<std::unique_ptr<ReusableExecution>> RemotePreparedModel::recordIn(
    std::shared_ptr<RingLane> lane, const Request& request) {
  HALYARD_RETURN_IF_ERROR(check(request));
  return std::unique_ptr<ReusableExecution>(
      std::make_unique<Reusable>(shared_from_this(), std::move(lane), request));
}

void RemotePreparedModel::nameInTrace() {
  const uint64_t context = trace::currentContext();
  if (context == 0 || traceContext_.load() == context) return;
  if (connection_->traceModel(id_, context)) traceContext_ = context;
}

Result<ExecutionResult> RemotePreparedModel::call(const char* method, const Request& packed,
                                                  const ExecuteOptions& options,
                                                  std::optional<TimePoint> deadline) {
  HALYARD_RETURN_IF_ERROR(checkEncodable(packed));
  const size_t outputs = model_->main.outputIndexes.size();
  const auto start = [&](Side& side) -> ExecutionPromise {
    const auto it = side.preparedModels.find(id_);
    if (it == side.preparedModels.end()) {
      return Result<ExecutionResult>(badState("the prepared model is not known any more"));
    }
    if (version_ >= HalVersion::V1_3) {
      return execute13(it->second.castAs<wire::v1_3::IPreparedModel>(), packed, options, outputs);
    }
    if (version_ >= HalVersion::V1_2) {
      return execute12(it->second.castAs<wire::v1_2::IPreparedModel>(), packed, options, outputs);
    }
    return execute10(side, it->second, packed, outputs);
  };
  return connection_->call<ExecutionResult>(method, start, CallLimit::computing(deadline),
                                            {.phase = trace::Phase::EXECUTION});
}

Status RemotePreparedModel::saveToCache(int modelCache, int dataCache, const Token& token) {
  if (version_ < HalVersion::V1_2) {
    return opFailed("driver '{}' has HAL {}; saving compilations needs HAL 1.2",
                    connection_->name(), halVersionName(version_));
  }
  const auto start = [&](Side& side) -> kj::Promise<Result<bool>> {
    const auto it = side.preparedModels.find(id_);
    if (it == side.preparedModels.end()) {
      return Result<bool>(badState("the prepared model is not known any more"));
    }
    auto call = it->second.castAs<wire::v1_2::IPreparedModel>().saveToCacheRequest();
    const auto setFile = [](int fd, wire::Handle::Builder handle) {
      KJ_IF_MAYBE (file, encodeFile(fd)) handle.initFds(1).set(0, *file);
    };
    setFile(modelCache, call.initModelCache());
    setFile(dataCache, call.initDataCache());
    call.setToken(kj::arrayPtr(token.data(), token.size()));
    return call.send().then([](auto&& response) -> Result<bool> {
      HALYARD_RETURN_IF_ERROR(fromWireStatus(response.getStatus(), response.getMessage()));
      return true;
    });
  };
  // The driver may have to compile first.
  return connection_->call<bool>("saveToCache", start, CallLimit::computing(std::nullopt))
      .takeStatus();
}

FencedResult RemotePreparedModel::executeFenced(const Request& request,
                                                std::span<const int> waitFor,
                                                const ExecuteOptions& options,
                                                std::optional<std::chrono::nanoseconds> duration) {
  if (!takesAttributes_ && !options.attributes.empty()) {
    return executeFenced(request, waitFor, withoutAttributes(options), duration);
  }
  Status valid = validateFencedRequest(*model_, request);
  if (!valid.ok()) return {std::move(valid), {}, nullptr};
  if (trace::isActive()) nameInTrace();
  Result<std::vector<ForeignFd>> pending = takePending(waitFor);
  if (!pending.ok()) return {pending.takeStatus(), {}, nullptr};
  const bool fits = pending->size() + request.pools.size() <= wire::MAX_FDS_PER_MESSAGE;
  if (version_ < HalVersion::V1_3 || !fits || !checkEncodable(request).ok()) {
    return executeFencedHere(request, std::move(*pending), options, duration);
  }
  return executeFencedRemotely(connection_, id_, request, std::move(*pending), options, duration,
                               fencing_.service);
}

FencedResult RemotePreparedModel::executeFencedHere(
    const Request& request, std::vector<ForeignFd> pending, const ExecuteOptions& options,
    std::optional<std::chrono::nanoseconds> duration) {
  const auto run = [self = shared_from_this(), request](const ExecuteOptions& own) {
    return self->executeSynchronously(request, own);
  };
  if (version_ < HalVersion::V1_3 && pending.empty()) return runAtOnce(run, options, duration);
  FencedCall call;
  call.run = run;
  call.options = options;
  call.duration = duration;
  call.priority = priority_;
  call.limit = fencing_.limit;
  return startFenced(fencing_.service, std::move(call), std::move(pending));
}

}  // namespace halyard::hal

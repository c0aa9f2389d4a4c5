#include "hal/session/client_session.h"

#include "base/log.h"
#include "hal/core/driver_exception.h"
#include "hal/core/operation_support.h"
#include "hal/session/cache_files.h"
#include "hal/session/model_interface.h"
#include "hal/session/session_prepared_model.h"
#include "model/validation/validation.h"

namespace halyard::hal {
namespace {

Status checkOptions(const PrepareOptions& options) {
  const auto preference = static_cast<int32_t>(options.preference);
  const auto priority = static_cast<int32_t>(options.priority);
  if (preference < 0 || preference > 2)
    return badData("preference {}, expected 0 to 2", preference);
  if (priority < 0 || priority > 2) return badData("priority {}, expected 0 to 2", priority);
  return okStatus();
}

Status checkDeadline(const PrepareOptions& options) {
  if (!options.deadline || Clock::now() < *options.deadline) return okStatus();
  return makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT,
                    "the deadline has passed before the model was prepared");
}

// The options for the driver, without unusable cache files.
PrepareOptions withUsableCache(const DeviceInfo& info, const PrepareOptions& options) {
  PrepareOptions own = options;
  if (own.cache == nullptr) return own;
  Status usable = info.modelCacheFiles + info.dataCacheFiles == 0
                      ? opFailed("the driver does not cache compilations")
                      : checkFilesToSave(info, *own.cache);
  if (usable.ok()) return own;
  logInfo("nothing is cached: {}", usable.message());
  own.cache = nullptr;
  return own;
}

// Checks a loaded model for errors of the driver.
Status checkCached(const CachedModel& cached, const Model* expected) {
  if (cached.prepared == nullptr) return opFailed("the driver prepared no model");
  if (cached.interface == nullptr) return opFailed("the driver does not say what it has prepared");
  HALYARD_RETURN_IF_ERROR(checkInterface(*cached.interface).withCode(ResultCode::OP_FAILED),
                          "what the driver has prepared");
  PrepareOptions options;
  options.preference = cached.preference;
  options.priority = cached.priority;
  HALYARD_RETURN_IF_ERROR(checkOptions(options).withCode(ResultCode::OP_FAILED),
                          "what the driver has prepared");
  return expected == nullptr ? okStatus() : checkSameInterface(*expected, *cached.interface);
}

}  // namespace

ClientSession::ClientSession(std::shared_ptr<Device> device,
                             std::shared_ptr<SessionServices> services,
                             std::shared_ptr<Quota> quota)
    : state_(std::make_shared<SessionState>(std::move(device), std::move(services),
                                            std::move(quota))) {}

std::shared_ptr<ClientSession> ClientSession::ofRuntime(std::shared_ptr<Device> device,
                                                        std::shared_ptr<SessionServices> services) {
  auto session = std::make_shared<ClientSession>(std::move(device), std::move(services));
  session->isOfRuntime_ = true;
  return session;
}

ClientSession::~ClientSession() { end(); }

void ClientSession::end() { state_->cancel.request_stop(); }

void ClientSession::setTrace(std::shared_ptr<trace::Recorder> recorder) {
  state_->trace.set(std::move(recorder));
}

Quota& ClientSession::quota() const { return *state_->quota; }

const DeviceInfo& ClientSession::info() const { return state_->device->info(); }

DeviceStatus ClientSession::status() { return state_->device->status(); }

Status ClientSession::checkLevel(const ValidModel& model) const {
  return isOfRuntime_ ? okStatus() : checkForLevel(model, offeredLevel(info()));
}

Result<SupportedOperations> ClientSession::getSupportedOperations(const ValidModel& model) {
  HALYARD_RETURN_IF_ERROR(checkLevel(model));
  const trace::RecorderUse use(state_->trace.get());
  const trace::Scope mark(trace::Layer::DRIVER, trace::Phase::COMPILATION,
                          "getSupportedOperations");
  HALYARD_ASSIGN_OR_RETURN(SupportedOperations supported,
                           state_->device->getSupportedOperations(model));
  if (supported.size() != model->main.operations.size()) {
    return opFailed("the driver says of {} operations whether it supports them, the model has {}",
                    supported.size(), model->main.operations.size());
  }
  normalise(supported);
  return supported;
}

Result<std::shared_ptr<PreparedModel>> ClientSession::prepareModel(const ValidModel& model,
                                                                   const PrepareOptions& options) {
  // The order of the checks determines which of several errors is reported.
  HALYARD_RETURN_IF_ERROR(checkOptions(options));
  HALYARD_RETURN_IF_ERROR(checkLevel(model));
  HALYARD_RETURN_IF_ERROR(checkDeadline(options));
  HALYARD_ASSIGN_OR_RETURN(Quota::Charge charge, state_->quota->charge(Quota::Resource::MODELS, 1));
  using Prepared = std::shared_ptr<PreparedModel>;
  Result<Prepared> prepared = opFailed("the preparation has not been begun");
  HALYARD_RETURN_IF_ERROR(state_->services->takeTurn(
      options.priority, state_->lane, options.deadline, state_->cancel.get_token(), [&] {
        const trace::RecorderUse use(state_->trace.get());
        const trace::Scope mark(trace::Layer::DRIVER, trace::Phase::COMPILATION, "prepareModel");
        prepared = guarded(
            [&] { return state_->device->prepareModel(model, withUsableCache(info(), options)); });
      }));
  // By the rules of the HAL, a pool that cannot be mapped is an error of the caller.
  if (prepared.status().code() == ResultCode::UNMAPPABLE) {
    return prepared.takeStatus().withCode(ResultCode::BAD_DATA);
  }
  if (prepared.ok() && *prepared == nullptr) return opFailed("the driver prepared no model");
  if (!prepared.ok()) return prepared;
  return std::shared_ptr<PreparedModel>(std::make_shared<SessionPreparedModel>(
      state_, model.share(), std::move(*prepared), options, std::move(charge)));
}

Result<CachedModel> ClientSession::prepareModelFromCache(const std::optional<ValidModel>& model,
                                                         const PrepareOptions& options) {
  if (info().modelCacheFiles + info().dataCacheFiles == 0) {
    return opFailed("the driver does not cache compilations");
  }
  if (options.cache == nullptr) return badData("there are no cache files");
  HALYARD_RETURN_IF_ERROR(checkFilesToLoad(info(), *options.cache));
  if (model) HALYARD_RETURN_IF_ERROR(checkLevel(*model));
  HALYARD_RETURN_IF_ERROR(checkDeadline(options));
  HALYARD_ASSIGN_OR_RETURN(Quota::Charge charge, state_->quota->charge(Quota::Resource::MODELS, 1));
  Result<CachedModel> cached = opFailed("the preparation has not been begun");
  // The files contain the priority. Before they are read, the model has the middle priority.
  HALYARD_RETURN_IF_ERROR(state_->services->takeTurn(
      Priority::MEDIUM, state_->lane, options.deadline, state_->cancel.get_token(), [&] {
        const trace::RecorderUse use(state_->trace.get());
        const trace::Scope mark(trace::Layer::DRIVER, trace::Phase::COMPILATION,
                                "prepareModelFromCache");
        cached = guarded([&] { return state_->device->prepareModelFromCache(model, options); });
      }));
  if (!cached.ok()) return cached;
  HALYARD_RETURN_IF_ERROR(checkCached(*cached, model ? model->share().get() : nullptr));
  PrepareOptions own = options;
  own.preference = cached->preference;
  own.priority = cached->priority;
  cached->prepared = std::make_shared<SessionPreparedModel>(
      state_, cached->interface, std::move(cached->prepared), own, std::move(charge));
  return cached;
}

Result<std::unique_ptr<Buffer>> ClientSession::allocate(
    const Shape& dimensions, std::span<const std::shared_ptr<PreparedModel>> preparedModels,
    std::span<const BufferRole> inputRoles, std::span<const BufferRole> outputRoles) {
  if (info().halVersion < HalVersion::V1_3) {
    return makeStatus(ResultCode::UNAVAILABLE_DEVICE, "HAL {} has no buffers; they came with 1.3",
                      halVersionName(info().halVersion));
  }
  HALYARD_ASSIGN_OR_RETURN(BufferSpec spec, makeBufferSpec(*state_, dimensions, preparedModels,
                                                           inputRoles, outputRoles));
  return state_->buffers->allocate(std::move(spec));
}

pid_t ClientSession::processId() const { return state_->device->processId(); }

Status ClientSession::wait() { return state_->device->wait(); }

Status noBursts() { return makeStatus(ResultCode::UNAVAILABLE_DEVICE, "the driver has no bursts"); }

void normalise(ExecutionResult& result, bool measureTiming) {
  if (!result.status.ok()) {
    result.timing = {};
    if (result.status.code() != ResultCode::OUTPUT_INSUFFICIENT_SIZE) result.outputShapes.clear();
  }
  if (!measureTiming) result.timing = {};
}

}  // namespace halyard::hal

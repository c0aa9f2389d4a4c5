#include "hal/session/client_session.h"

#include <new>
#include <stdexcept>

#include "hal/session/session_prepared_model.h"
#include "model/validation.h"

namespace halyard::hal {
namespace {

Status checkModel(const DeviceInfo& info, const Model& model) {
  return validateModelForLevel(model, offeredLevel(info));
}

Status checkOptions(const PrepareOptions& options) {
  const auto preference = static_cast<int32_t>(options.preference);
  const auto priority = static_cast<int32_t>(options.priority);
  if (preference < 0 || preference > 2)
    return badData("preference {}, expected 0 to 2", preference);
  if (priority < 0 || priority > 2) return badData("priority {}, expected 0 to 2", priority);
  return okStatus();
}

// A driver's exception must end nothing but its call.
Result<std::shared_ptr<PreparedModel>> guardedPrepare(Device& device,
                                                      const std::shared_ptr<const Model>& model,
                                                      const PrepareOptions& options) {
  try {
    return device.prepareModel(model, options);
  } catch (const std::bad_alloc&) {
    return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, "the driver is out of memory");
  } catch (const std::exception& exception) {
    return opFailed("the driver failed: {}", exception.what());
  }
}

}  // namespace

ClientSession::ClientSession(std::shared_ptr<Device> device,
                             std::shared_ptr<SessionServices> services,
                             std::shared_ptr<Quota> quota)
    : state_(std::make_shared<SessionState>(std::move(device), std::move(services),
                                            std::move(quota))) {}

ClientSession::~ClientSession() { end(); }

void ClientSession::end() { state_->cancel.request_stop(); }

Quota& ClientSession::quota() const { return *state_->quota; }

const DeviceInfo& ClientSession::info() const { return state_->device->info(); }

DeviceStatus ClientSession::status() { return state_->device->status(); }

Result<std::vector<bool>> ClientSession::getSupportedOperations(const Model& model) {
  HALYARD_RETURN_IF_ERROR(checkModel(info(), model));
  Result<std::vector<bool>> supported = state_->device->getSupportedOperations(model);
  if (supported.ok() && supported->size() != model.main.operations.size()) {
    return opFailed("the driver says of {} operations whether it supports them, the model has {}",
                    supported->size(), model.main.operations.size());
  }
  return supported;
}

Result<std::shared_ptr<PreparedModel>> ClientSession::prepareModel(
    std::shared_ptr<const Model> model, const PrepareOptions& options) {
  HALYARD_RETURN_IF_ERROR(checkOptions(options));
  HALYARD_RETURN_IF_ERROR(checkModel(info(), *model));
  if (options.deadline && Clock::now() >= *options.deadline) {
    return makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT,
                      "the deadline has passed before the model was prepared");
  }
  HALYARD_ASSIGN_OR_RETURN(Quota::Charge charge, state_->quota->charge(Quota::Resource::MODELS, 1));
  Result<std::shared_ptr<PreparedModel>> prepared = opFailed("the preparation has not been begun");
  HALYARD_RETURN_IF_ERROR(state_->services->scheduler().run(
      options.priority, state_.get(), options.deadline, state_->cancel.get_token(),
      [&] { prepared = guardedPrepare(*state_->device, model, options); }));
  // A pool that cannot be mapped is the caller's mistake, by the HAL's rules.
  if (prepared.status().code() == ResultCode::UNMAPPABLE) {
    return prepared.takeStatus().withCode(ResultCode::BAD_DATA);
  }
  if (prepared.ok() && *prepared == nullptr) return opFailed("the driver prepared no model");
  if (!prepared.ok()) return prepared;
  return std::shared_ptr<PreparedModel>(std::make_shared<SessionPreparedModel>(
      state_, std::move(model), std::move(*prepared), options, std::move(charge)));
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

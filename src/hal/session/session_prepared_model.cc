#include "hal/session/session_prepared_model.h"

#include <new>
#include <stdexcept>

#include "hal/session/client_session.h"

namespace halyard::hal {
namespace {

ExecutionResult failed(Status status) {
  ExecutionResult result;
  result.status = std::move(status);
  return result;
}

// A driver's exception must end nothing but its call.
ExecutionResult guarded(PreparedModel& driver, const Request& request,
                        const ExecuteOptions& options) {
  try {
    return driver.executeSynchronously(request, options);
  } catch (const std::bad_alloc&) {
    return failed(
        makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, "the driver is out of memory"));
  } catch (const std::exception& exception) {
    return failed(opFailed("the driver failed: {}", exception.what()));
  }
}

}  // namespace

SessionPreparedModel::SessionPreparedModel(std::shared_ptr<SessionState> session,
                                           std::shared_ptr<const Model> model,
                                           std::shared_ptr<PreparedModel> driver,
                                           const PrepareOptions& options)
    : session_(std::move(session)),
      model_(std::move(model)),
      driver_(std::move(driver)),
      priority_(options.priority) {}

ExecutionResult SessionPreparedModel::executeSynchronously(const Request& request,
                                                           const ExecuteOptions& options) {
  const bool mayBeUnspecified = session_->device->info().halVersion >= HalVersion::V1_2;
  Status valid = validateRequest(*model_, request, mayBeUnspecified);
  if (!valid.ok()) return failed(std::move(valid));
  if (options.deadline && Clock::now() >= *options.deadline) {
    return failed(makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT,
                             "the deadline has passed before the execution began"));
  }
  ExecuteOptions own = options;
  if (!own.cancel.stop_possible()) own.cancel = session_->cancel.get_token();
  ExecutionResult result = guarded(*driver_, request, own);
  normalise(result, options.measureTiming);
  return result;
}

}  // namespace halyard::hal

// DriverConnection: the client's side of a driver's trace.
#include "hal/client/driver_connection.h"
#include "hal/wire/wire_memory.h"
#include "hal/wire/wire_types.h"

namespace halyard::hal {

Status DriverConnection::beginTrace(const SharedMemoryPtr& memory) {
  const auto start = [&](Side& side) -> kj::Promise<Result<bool>> {
    auto request = KJ_ASSERT_NONNULL(side.driver).traceRequest();
    MemoryEncoder().encode(memory, 0, request.initMemory());
    return request.send().then([](auto&& response) -> Result<bool> {
      HALYARD_RETURN_IF_ERROR(fromWireStatus(response.getStatus(), response.getMessage()));
      return true;
    });
  };
  Status status = call<bool>("trace", start, CallLimit::prompt(), CallTrace::none()).takeStatus();
  records_ = status.ok();
  return status;
}

void DriverConnection::endTrace() {
  if (!records_.exchange(false)) return;
  later([](Side& side) {
    KJ_IF_MAYBE (driver, side.driver) {
      side.watchers.add(driver->traceRequest().send().ignoreResult());
    }
  });
}

bool DriverConnection::traceModel(uint64_t preparedModel, uint64_t context) {
  if (!records_) return false;
  const auto start = [&](Side& side) -> kj::Promise<Result<bool>> {
    const auto it = side.preparedModels.find(preparedModel);
    if (it == side.preparedModels.end()) return Result<bool>(false);
    auto request = KJ_ASSERT_NONNULL(side.driver).traceModelRequest();
    request.setPreparedModel(it->second);
    request.setContext(context);
    return request.send().then([](auto&&) -> Result<bool> { return true; });
  };
  // An error here is ignored. The driver's operations then belong to no compilation in the trace,
  // and the execution reports any error that matters.
  (void)call<bool>("traceModel", start, CallLimit::prompt(), CallTrace::none());
  return true;
}

trace::Details DriverConnection::traceDetails(bool openEnded) const {
  return {.peer = tracePeer_.load(std::memory_order_relaxed), .openEnded = openEnded};
}
}  // namespace halyard::hal

#include "hal/client/remote_burst.h"

#include "hal/session/session_burst.h"

namespace halyard::hal {

ExecutionResult RemoteBurst::execute(const Request& request, const ExecuteOptions& options) {
  const BurstTurn turn(busy_);
  if (Status mine = turn.check(); !mine.ok()) return {std::move(mine), {}, {}};
  return preparedModel_->executeIn(lane_.get(), request, options);
}

void RemoteBurst::forget(const SharedMemory& memory) { lane_->forget(memory); }

}  // namespace halyard::hal

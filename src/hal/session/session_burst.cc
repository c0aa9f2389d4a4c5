#include "hal/session/session_burst.h"

namespace halyard::hal {

ExecutionResult SessionBurst::execute(const Request& request, const ExecuteOptions& options) {
  const BurstTurn turn(busy_);
  if (Status mine = turn.check(); !mine.ok()) return {std::move(mine), {}, {}};
  return preparedModel_->executeSynchronously(request, options);
}

}  // namespace halyard::hal

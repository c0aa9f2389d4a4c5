#include "hal/client/remote_burst.h"

namespace halyard::hal {

ExecutionResult RemoteBurst::execute(const Request& request, const ExecuteOptions& options) {
  const BurstTurn turn(*busy_);
  if (Status mine = turn.check(); !mine.ok()) return {std::move(mine), {}, {}};
  return preparedModel_->executeIn(lane_.get(), request, options);
}

Result<std::unique_ptr<ReusableExecution>> RemoteBurst::createReusableExecution(
    const Request& request) {
  HALYARD_ASSIGN_OR_RETURN(auto execution, preparedModel_->recordIn(lane_, request));
  return std::unique_ptr<ReusableExecution>(
      std::make_unique<BurstReusable>(busy_, std::move(execution)));
}

}  // namespace halyard::hal

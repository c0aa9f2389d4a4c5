#include "hal/session/session_burst.h"

namespace halyard::hal {

ExecutionResult SessionBurst::execute(const Request& request, const ExecuteOptions& options) {
  const BurstTurn turn(*busy_);
  if (Status mine = turn.check(); !mine.ok()) return {std::move(mine), {}, {}};
  return preparedModel_->executeSynchronously(request, options);
}

Result<std::unique_ptr<ReusableExecution>> SessionBurst::createReusableExecution(
    const Request& request) {
  HALYARD_ASSIGN_OR_RETURN(auto execution, preparedModel_->createReusableExecution(request));
  return std::unique_ptr<ReusableExecution>(
      std::make_unique<BurstReusable>(busy_, std::move(execution)));
}

ExecutionResult BurstReusable::compute(const ExecuteOptions& options) {
  const BurstTurn turn(*busy_);
  if (Status mine = turn.check(); !mine.ok()) return {std::move(mine), {}, {}};
  return execution_->compute(options);
}

}  // namespace halyard::hal

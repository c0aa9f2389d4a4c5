// RemoteBurst: a burst of a prepared model in a driver's process.
// Thread safety: as hal::Burst.
// Ownership: shares the prepared model and the lane.
#pragma once

#include <memory>

#include "hal/client/remote_prepared_model.h"
#include "hal/session/session_burst.h"

namespace halyard::hal {

class RemoteBurst final : public Burst {
 public:
  RemoteBurst(std::shared_ptr<RemotePreparedModel> preparedModel, std::shared_ptr<RingLane> lane)
      : preparedModel_(std::move(preparedModel)), lane_(std::move(lane)) {}

  ExecutionResult execute(const Request& request, const ExecuteOptions& options) override;
  Result<std::unique_ptr<ReusableExecution>> createReusableExecution(
      const Request& request) override;

 private:
  const std::shared_ptr<RemotePreparedModel> preparedModel_;
  const std::shared_ptr<RingLane> lane_;
  const BurstBusy busy_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace halyard::hal

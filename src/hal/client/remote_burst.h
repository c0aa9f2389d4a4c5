// RemoteBurst: a burst of a prepared model in a driver's process.
// Thread safety: as hal::Burst. Ownership: shares the prepared model.
#pragma once

#include <atomic>
#include <memory>

#include "hal/client/remote_prepared_model.h"

namespace halyard::hal {

class RemoteBurst final : public Burst {
 public:
  RemoteBurst(std::shared_ptr<RemotePreparedModel> preparedModel, std::unique_ptr<RingLane> lane)
      : preparedModel_(std::move(preparedModel)), lane_(std::move(lane)) {}

  ExecutionResult execute(const Request& request, const ExecuteOptions& options) override;
  void forget(const SharedMemory& memory) override;

 private:
  const std::shared_ptr<RemotePreparedModel> preparedModel_;
  const std::unique_ptr<RingLane> lane_;
  std::atomic<bool> busy_ = false;
};

}  // namespace halyard::hal

// SessionBurst: a burst of a driver in this process. It needs no transport.
// Thread safety: that of hal::Burst. Ownership: shares the prepared model.
#pragma once

#include <atomic>
#include <memory>

#include "halyard/driver/device.h"

namespace halyard::hal {

// True while a burst is executing. The reusable executions of the burst share it.
using BurstBusy = std::shared_ptr<std::atomic<bool>>;

class SessionBurst final : public Burst {
 public:
  explicit SessionBurst(std::shared_ptr<PreparedModel> preparedModel)
      : preparedModel_(std::move(preparedModel)) {}

  ExecutionResult execute(const Request& request, const ExecuteOptions& options) override;
  Result<std::unique_ptr<ReusableExecution>> createReusableExecution(
      const Request& request) override;

 private:
  const std::shared_ptr<PreparedModel> preparedModel_;
  const BurstBusy busy_ = std::make_shared<std::atomic<bool>>(false);
};

// Holds `busy` during its lifetime, unless another turn holds it.
class BurstTurn {
 public:
  explicit BurstTurn(std::atomic<bool>& busy) : busy_(busy), mine_(!busy.exchange(true)) {}
  ~BurstTurn() {
    if (mine_) busy_ = false;
  }
  BurstTurn(const BurstTurn&) = delete;
  BurstTurn& operator=(const BurstTurn&) = delete;
  // BAD_STATE if another turn holds it.
  Status check() const {
    return mine_ ? okStatus() : badState("the burst is executing, and does one at a time");
  }

 private:
  std::atomic<bool>& busy_;
  const bool mine_;
};

// A reusable execution of a burst. Each computation takes the turn of the burst.
// Thread safety: that of hal::Burst. Ownership: owns `execution`.
class BurstReusable final : public ReusableExecution {
 public:
  BurstReusable(BurstBusy busy, std::unique_ptr<ReusableExecution> execution)
      : busy_(std::move(busy)), execution_(std::move(execution)) {}
  ExecutionResult compute(const ExecuteOptions& options) override;

 private:
  const BurstBusy busy_;
  const std::unique_ptr<ReusableExecution> execution_;
};

}  // namespace halyard::hal

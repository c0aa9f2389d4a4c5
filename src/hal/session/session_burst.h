// SessionBurst: a burst of a driver in this process: nothing has to be carried anywhere.
// Thread safety: as hal::Burst. Ownership: shares the prepared model.
#pragma once

#include <atomic>
#include <memory>

#include "halyard/driver/device.h"

namespace halyard::hal {

class SessionBurst final : public Burst {
 public:
  explicit SessionBurst(std::shared_ptr<PreparedModel> preparedModel)
      : preparedModel_(std::move(preparedModel)) {}

  ExecutionResult execute(const Request& request, const ExecuteOptions& options) override;
  void forget(const SharedMemory&) override {}

 private:
  const std::shared_ptr<PreparedModel> preparedModel_;
  std::atomic<bool> busy_ = false;
};

// Holds `busy` while it lives, unless somebody else does.
class BurstTurn {
 public:
  explicit BurstTurn(std::atomic<bool>& busy) : busy_(busy), mine_(!busy.exchange(true)) {}
  ~BurstTurn() {
    if (mine_) busy_ = false;
  }
  BurstTurn(const BurstTurn&) = delete;
  BurstTurn& operator=(const BurstTurn&) = delete;
  // BAD_STATE if it is somebody else's.
  Status check() const {
    return mine_ ? okStatus() : badState("the burst is executing, and does one at a time");
  }

 private:
  std::atomic<bool>& busy_;
  const bool mine_;
};

}  // namespace halyard::hal

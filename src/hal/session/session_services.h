// SessionServices: the executor, the fences and the tokens that all sessions of a process share.
// Thread safety: that of each part. Ownership: shared by the sessions and their objects.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/fair_executor.h"
#include "hal/ring/spinning.h"
#include "hal/session/fenced_execution.h"
#include "hal/session/token_pool.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

class SessionServices {
 public:
  explicit SessionServices(const FairExecutor::Options& executor = {})
      : executor_(std::make_shared<FairExecutor>(executor)) {}
  SessionServices(const SessionServices&) = delete;
  SessionServices& operator=(const SessionServices&) = delete;

  // The threads for the work of all clients.
  FairExecutor& executor() { return *executor_; }
  const std::shared_ptr<FenceService>& fences() const { return fences_; }
  // Shared by the threads that wait actively for packets of this priority.
  const std::shared_ptr<SpinGate>& spinGate(Priority priority) const {
    return spinGates_[static_cast<size_t>(priority)];
  }
  // Runs `work`, which must not throw, and returns at its end. Low priority runs on a background
  // thread, in turn with other lanes. Other priorities run at once, in the calling thread. The
  // errors are those of FairExecutor::run.
  Status takeTurn(Priority priority, const std::shared_ptr<FairExecutor::Lane>& lane,
                  std::optional<TimePoint> deadline, const std::stop_token& cancel,
                  const std::function<void()>& work);

  const std::shared_ptr<TokenPool> tokens = std::make_shared<TokenPool>();

 private:
  const std::shared_ptr<FairExecutor> executor_;
  const std::shared_ptr<FenceService> fences_ = std::make_shared<FenceService>(executor_);
  const std::array<std::shared_ptr<SpinGate>, 3> spinGates_ = {
      std::make_shared<SpinGate>(), std::make_shared<SpinGate>(), std::make_shared<SpinGate>()};
};

}  // namespace halyard::hal

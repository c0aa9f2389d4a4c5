// SessionServices: what all sessions of a process share.
// Thread safety: as each of its parts. Ownership: shared by the sessions and their objects.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "hal/ring/ring_workers.h"
#include "hal/session/fenced_execution.h"
#include "hal/session/scheduler.h"
#include "hal/session/token_pool.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

class SessionServices {
 public:
  SessionServices() = default;
  SessionServices(const SessionServices&) = delete;
  SessionServices& operator=(const SessionServices&) = delete;

  Scheduler& scheduler() { return scheduler_; }
  const std::shared_ptr<FenceService>& fences() const { return fences_; }
  // The threads that serve the bursts of models of this priority; they start when they are asked
  // for first. RESOURCE_EXHAUSTED_TRANSIENT; OP_FAILED after stop.
  Result<RingWorkers*> ringWorkers(Priority priority);
  // Takes no more packets of bursts, and waits for those that are being executed. False when that
  // has not come to an end in time.
  bool drain(TimePoint until);
  // The same, as long as it takes; all workers are gone afterwards.
  void stop();

  const std::shared_ptr<TokenPool> tokens = std::make_shared<TokenPool>();

 private:
  Scheduler scheduler_;
  const std::shared_ptr<FenceService> fences_ = std::make_shared<FenceService>();
  std::mutex mutex_;
  bool stopped_ = false;
  std::array<std::unique_ptr<RingWorkers>, 3> ringWorkers_;
};

}  // namespace halyard::hal

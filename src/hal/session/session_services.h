// SessionServices: what all sessions of a process share.
// Thread safety: as each of its parts. Ownership: shared by the sessions and their objects.
#pragma once

#include <memory>

#include "hal/session/fenced_execution.h"
#include "hal/session/scheduler.h"
#include "hal/session/token_pool.h"

namespace halyard::hal {

class SessionServices {
 public:
  SessionServices() = default;
  SessionServices(const SessionServices&) = delete;
  SessionServices& operator=(const SessionServices&) = delete;

  Scheduler& scheduler() { return scheduler_; }
  const std::shared_ptr<FenceService>& fences() const { return fences_; }

  const std::shared_ptr<TokenPool> tokens = std::make_shared<TokenPool>();

 private:
  Scheduler scheduler_;
  const std::shared_ptr<FenceService> fences_ = std::make_shared<FenceService>();
};

}  // namespace halyard::hal

// SessionState: the state of one ClientSession. Its objects share it.
// Thread safety: that of each part. Ownership: shared by the objects of the session.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>

#include "hal/core/quota.h"
#include "hal/session/buffers.h"
#include "hal/session/session_services.h"
#include "halyard/driver/device.h"
#include "trace/recorder.h"

namespace halyard::hal {

struct SessionState {
  // `theQuota`: null for no limits.
  SessionState(std::shared_ptr<Device> theDevice, std::shared_ptr<SessionServices> theServices,
               std::shared_ptr<Quota> theQuota)
      : device(std::move(theDevice)),
        services(std::move(theServices)),
        quota(theQuota != nullptr ? std::move(theQuota) : Quota::unlimited()) {}

  const std::shared_ptr<Device> device;
  const std::shared_ptr<SessionServices> services;
  const std::shared_ptr<Quota> quota;  // the limits of the client
  // For the client's work of low priority.
  const std::shared_ptr<FairExecutor::Lane> lane = services->executor().openLane({});
  const std::shared_ptr<FencedLimit> fencedLimit = services->fences()->openClient();
  std::stop_source cancel;  // stop requested when the session ends
  const std::shared_ptr<Buffers> buffers = std::make_shared<Buffers>(
      services->tokens, std::make_shared<MemoryAccount>(Buffers::kMaxBytes, quota), device);
  std::atomic<uint64_t> nextModel = 1;  // the number of the next prepared model
  trace::ClientRecorder trace;
};

}  // namespace halyard::hal

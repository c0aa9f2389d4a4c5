// RingLanes: the rings that a prepared model keeps for executions that are no bursts.
// Thread safety: borrow and giveBack may be called from any thread; a lane is used by one.
// Ownership: owns the lanes that nobody has borrowed.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "hal/client/argument_packer.h"
#include "hal/client/remote_ring.h"

namespace halyard::hal {

// A ring, and memory for arguments that is always the same: the driver keeps it mapped. Without a
// ring, a way for nothing but ordinary calls.
struct RingLane {
  // Opens the ring if there is none, unless the driver has refused once. OK without a ring then;
  // MISSED_DEADLINE_TRANSIENT when the driver has not answered until then.
  Status open(const std::shared_ptr<DriverConnection>& connection, uint64_t preparedModel,
              HalVersion version, std::optional<TimePoint> until);

  ArgumentPacker packer;
  std::unique_ptr<RemoteRing> ring;
  bool refused = false;
};

class RingLanes {
 public:
  // More executions at once go over the connection.
  static constexpr unsigned kMaxLanes = 4;

  // Null when all are in use.
  std::unique_ptr<RingLane> borrow();
  void giveBack(std::unique_ptr<RingLane> lane);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<RingLane>> free_;
  unsigned lanes_ = 0;
};

}  // namespace halyard::hal

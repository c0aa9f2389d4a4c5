// RingLanes: the rings that a prepared model keeps for executions without a burst.
// Thread safety: borrow and giveBack may be called from any thread. One thread uses a lane.
// Ownership: owns the lanes that are not borrowed.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "hal/client/argument_packer.h"
#include "hal/client/remote_ring.h"

namespace halyard::hal {

// A ring, and memory for its arguments. The memory stays the same, and the driver keeps it mapped.
// A lane without a ring is for ordinary calls only.
struct RingLane {
  // Opens the ring if the lane has no ring. Returns OK without a ring if the driver is dead, has a
  // HAL before 1.2, or refuses now or has refused before. MISSED_DEADLINE_TRANSIENT when the driver
  // has not answered by `until`.
  Status open(const std::shared_ptr<DriverConnection>& connection, uint64_t preparedModel,
              HalVersion version, std::optional<TimePoint> until);

  ArgumentPacker packer;
  std::unique_ptr<RemoteRing> ring;
  bool refused = false;
};

class RingLanes {
 public:
  // Executions beyond this number at the same time use the connection.
  static constexpr unsigned kMaxLanes = 4;

  // Null when all lanes are in use.
  std::unique_ptr<RingLane> borrow();
  void giveBack(std::unique_ptr<RingLane> lane);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<RingLane>> free_;
  unsigned lanes_ = 0;
};

}  // namespace halyard::hal

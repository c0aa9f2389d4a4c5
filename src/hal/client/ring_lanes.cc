#include "hal/client/ring_lanes.h"

namespace halyard::hal {

Status RingLane::open(const std::shared_ptr<DriverConnection>& connection, uint64_t preparedModel,
                      HalVersion version, std::optional<TimePoint> until) {
  if (ring != nullptr || refused || version < HalVersion::V1_2 || connection->dead()) {
    return okStatus();
  }
  auto opened = RemoteRing::open(connection, preparedModel, version, until);
  if (opened.ok()) {
    ring = std::move(*opened);
    return okStatus();
  }
  if (opened.status().code() == ResultCode::MISSED_DEADLINE_TRANSIENT) return opened.takeStatus();
  // Execution continues with ordinary calls. They report the cause if it concerns them, too.
  refused = true;
  return okStatus();
}

std::unique_ptr<RingLane> RingLanes::borrow() {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    auto lane = std::move(free_.back());
    free_.pop_back();
    return lane;
  }
  if (lanes_ == kMaxLanes) return nullptr;
  ++lanes_;
  return std::make_unique<RingLane>();
}

void RingLanes::giveBack(std::unique_ptr<RingLane> lane) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(lane));
}

}  // namespace halyard::hal

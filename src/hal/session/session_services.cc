#include "hal/session/session_services.h"

#include "hal/session/priority_class.h"

namespace halyard::hal {

Status SessionServices::takeTurn(Priority priority, const std::shared_ptr<FairExecutor::Lane>& lane,
                                 std::optional<TimePoint> deadline, const std::stop_token& cancel,
                                 const std::function<void()>& work) {
  if (priority != Priority::LOW) {
    work();
    return okStatus();
  }
  return executor_->run(lane, threadClassOf(priority), deadline, cancel, work);
}

}  // namespace halyard::hal

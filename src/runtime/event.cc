// Asynchronous executions, a thread each.
#include "runtime/event.h"

#include <pthread.h>

#include <cerrno>
#include <system_error>

namespace halyard::runtime {

Result<std::unique_ptr<Event>> Event::start(std::function<Status()> work) {
  std::unique_ptr<Event> event(new Event());
  const auto run = [self = event.get(), work = std::move(work)] {
    Status status = work();
    const std::lock_guard lock(self->mutex_);
    self->result_ = std::move(status);
    self->done_.notify_all();
  };
  // std::thread reports a lack of threads only by an exception.
  try {
    event->thread_ = std::thread(run);
  } catch (const std::system_error& error) {
    event->result_ = okStatus();  // so that nobody waits for work that never began
    return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, "starting a thread: {}",
                      error.what());
  }
  return event;
}

Event::~Event() {
  if (thread_.joinable()) thread_.join();
}

Status Event::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return result_.has_value(); });
  return *result_;
}

}  // namespace halyard::runtime

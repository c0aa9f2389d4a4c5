// Asynchronous executions, each with its own thread, and fences.
#include "runtime/execute/event.h"

#include <pthread.h>

#include <cerrno>
#include <system_error>

namespace halyard::runtime {
namespace {

// Converts codes that the HAL's statuses do not have.
Status asynchronous(const Status& status) {
  switch (status.code()) {
    case ResultCode::UNEXPECTED_NULL:
      return status.withCode(ResultCode::BAD_DATA);
    case ResultCode::BAD_STATE:
    case ResultCode::UNMAPPABLE:
    case ResultCode::OUT_OF_MEMORY:
    case ResultCode::INCOMPLETE:
    case ResultCode::DEAD_OBJECT:
      return status.withCode(ResultCode::OP_FAILED);
    default:
      return status;
  }
}

}  // namespace

Result<std::unique_ptr<Event>> Event::start(std::function<Status()> work) {
  std::unique_ptr<Event> event(new Event());
  const auto run = [self = event.get(), work = std::move(work)] { self->setResult(work()); };
  // std::thread reports a lack of threads only by an exception.
  try {
    event->thread_ = std::thread(run);
  } catch (const std::system_error& error) {
    event->result_ = okStatus();  // so that the destructor does not wait for work that never began
    return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, "starting a thread: {}",
                      error.what());
  }
  return event;
}

std::unique_ptr<Event> Event::fenced(UniqueFd fence, std::function<Status(FenceState)> complete) {
  std::unique_ptr<Event> event(new Event());
  event->fence_ = std::move(fence);
  event->complete_ = std::move(complete);
  return event;
}

Result<std::unique_ptr<Event>> Event::fromFence(int fd) {
  HALYARD_RETURN_IF_ERROR(fenceState(fd).status());
  UniqueFd fence(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!fence.valid()) {
    return errnoStatus(ResultCode::OUT_OF_MEMORY, errno, "duplicating a sync fence");
  }
  return fenced(std::move(fence), [](FenceState state) {
    return state == FenceState::SIGNALLED ? okStatus()
                                          : opFailed("the sync fence is in its error state");
  });
}

Event::~Event() {
  (void)wait();
  if (thread_.joinable()) thread_.join();
}

void Event::setResult(Status status) {
  const std::lock_guard lock(mutex_);
  result_ = asynchronous(status);
  done_.notify_all();
}

Status Event::wait() {
  std::function<Status(FenceState)> complete;
  {
    std::unique_lock lock(mutex_);
    complete = std::exchange(complete_, nullptr);
    if (!complete) {
      done_.wait(lock, [this] { return result_.has_value(); });
      return *result_;
    }
  }
  FenceState state = FenceState::SIGNALLED;
  if (fence_.valid()) {
    const Result<FenceState> ended = waitFence(fence_.get());
    state = ended.ok() ? *ended : FenceState::ERROR;
  }
  setResult(complete(state));
  const std::lock_guard lock(mutex_);
  return *result_;
}

}  // namespace halyard::runtime

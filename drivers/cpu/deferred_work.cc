#include "deferred_work.h"

#include <new>
#include <utility>

namespace halyard::cpudriver {

void DeferredWork::set(std::function<Status()> work) {
  work_ = std::move(work);
  stage_ = Stage::WAITING;
  succeeded_ = false;
}

Status DeferredWork::attempt() {
  const WorkLimit limit{{}, unwanted_.get_token()};
  const WorkLimitScope scope(&limit);
  try {
    checkWorkLimit();
    return work_();
  } catch (const WorkAbandoned&) {
    return opFailed("nobody has waited for it");
  } catch (const std::bad_alloc&) {
    return makeStatus(ResultCode::OUT_OF_MEMORY, "there is not enough memory");
  }
}

bool DeferredWork::hasFailed() {
  const std::lock_guard lock(mutex_);
  return stage_ == Stage::DONE && !result_.ok();
}

Status DeferredWork::finish() {
  std::unique_lock lock(mutex_);
  if (stage_ == Stage::WAITING) {
    stage_ = Stage::BEGUN;
    lock.unlock();
    Status result = attempt();
    lock.lock();
    result_ = std::move(result);
    work_ = nullptr;
    stage_ = Stage::DONE;
    succeeded_.store(result_.ok(), std::memory_order_release);
    done_.notify_all();
  }
  done_.wait(lock, [this] { return stage_ == Stage::DONE; });
  return result_;
}

std::optional<Status> DeferredWork::await(const WorkLimit& limit) {
  const auto isDone = [this] { return stage_ == Stage::DONE; };
  std::unique_lock lock(mutex_);
  const bool done = limit.deadline ? done_.wait_until(lock, limit.cancel, *limit.deadline, isDone)
                                   : done_.wait(lock, limit.cancel, isDone);
  return done ? std::optional(result_) : std::nullopt;
}

}  // namespace halyard::cpudriver

#include "late_compiler.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/signals_blocked.h"
#include "compiled_model.h"

namespace halyard::cpudriver {

LateCompiler::~LateCompiler() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    isStopping_ = true;
    wakeIn({});
  }
  thread_.join();
}

bool LateCompiler::start() {
  timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  if (!timer_.valid()) return false;
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void LateCompiler::wakeIn(Clock::duration delay) {
  // A time of 0 would be none.
  const std::chrono::nanoseconds count =
      std::max<Clock::duration>(delay, std::chrono::nanoseconds(1));
  itimerspec time{};
  time.it_value.tv_sec = static_cast<time_t>(count / std::chrono::seconds(1));
  time.it_value.tv_nsec = static_cast<long>((count % std::chrono::seconds(1)).count());
  (void)::timerfd_settime(timer_.get(), 0, &time, nullptr);
}

bool LateCompiler::add(const std::shared_ptr<CompiledModel>& model) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable() && !start()) return false;
  waiting_.push_back({model, Clock::now() + kDelay});
  // Behind others it has its turn after them.
  if (waiting_.size() == 1) wakeIn(kDelay);
  return true;
}

void LateCompiler::hurry() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return;
  for (Entry& entry : waiting_) entry.from = {};
  wakeIn({});
}

void LateCompiler::work() {
  enterThreadClass(threadClass_);
  for (;;) {
    uint64_t count = 0;
    (void)!::read(timer_.get(), &count, sizeof count);
    std::unique_lock lock(mutex_);
    while (!isStopping_ && !waiting_.empty()) {
      const Clock::duration left = waiting_.front().from - Clock::now();
      if (left > Clock::duration::zero()) {
        wakeIn(left);
        break;
      }
      const std::weak_ptr<CompiledModel> next = std::move(waiting_.front().model);
      waiting_.pop_front();
      lock.unlock();
      // The runs report the error.
      if (const std::shared_ptr<CompiledModel> model = next.lock()) (void)model->complete();
      lock.lock();
    }
    if (isStopping_) return;
  }
}

}  // namespace halyard::cpudriver

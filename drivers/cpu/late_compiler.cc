#include "late_compiler.h"

#include <system_error>
#include <utility>

#include "base/signals_blocked.h"
#include "compiled_model.h"

namespace halyard::cpudriver {

LateCompiler::~LateCompiler() {
  {
    const std::lock_guard lock(mutex_);
    isStopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool LateCompiler::add(const std::shared_ptr<CompiledModel>& model) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) {
    const SignalsBlocked blocked;
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      return false;
    }
  }
  waiting_.push_back({model, Clock::now() + kDelay});
  changed_.notify_one();
  return true;
}

void LateCompiler::hurry() {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : waiting_) entry.from = {};
  changed_.notify_one();
}

void LateCompiler::work() {
  enterThreadClass(threadClass_);
  std::unique_lock lock(mutex_);
  while (!isStopping_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    if (Clock::now() < waiting_.front().from) {
      changed_.wait_until(lock, waiting_.front().from);
      continue;
    }
    const std::weak_ptr<CompiledModel> next = std::move(waiting_.front().model);
    waiting_.pop_front();
    lock.unlock();
    // What goes wrong is the runs' to tell.
    if (const std::shared_ptr<CompiledModel> model = next.lock()) (void)model->complete();
    lock.lock();
  }
}

}  // namespace halyard::cpudriver

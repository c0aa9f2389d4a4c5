// One thread, which ends when there is nothing left to watch.
#include "idle_memory.h"

#include <algorithm>

#include "base/signals_blocked.h"

namespace halyard::cpudriver {

IdleMemory::~IdleMemory() {
  {
    const std::lock_guard lock(mutex_);
    isStopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void IdleMemory::add(Keeper* keeper) {
  const std::lock_guard lock(mutex_);
  keepers_.push_back(keeper);
}

void IdleMemory::remove(Keeper* keeper) {
  const std::lock_guard lock(mutex_);
  std::erase(keepers_, keeper);
}

void IdleMemory::startWatching() {
  if (isWatching_) return;
  const std::lock_guard lock(mutex_);
  if (isWatching_ || isStopping_) return;
  isWatching_ = true;
  // One that has found nothing to watch has ended, or is about to.
  if (thread_.joinable()) thread_.join();
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { watch(); });
}

void IdleMemory::watch() {
  std::unique_lock lock(mutex_);
  while (!isStopping_) {
    changed_.wait_for(lock, patience_, [&] { return isStopping_; });
    isWatching_ = false;
    bool keepsAny = false;
    for (Keeper* const keeper : keepers_) {
      keepsAny |= keeper->releaseUnusedSince(Clock::now() - patience_);
    }
    if (!keepsAny) return;
    isWatching_ = true;
  }
  isWatching_ = false;
}

}  // namespace halyard::cpudriver

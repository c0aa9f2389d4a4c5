// A stack: the workspace on top was used last.
#include "workspaces.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "kernels/huge_pages.h"

namespace halyard::cpudriver {
namespace {

// Not initialised.
std::shared_ptr<std::byte> allocateArena(size_t bytes) {
  if (bytes >= kHugePage) {
    if (auto memory = mapPages(bytes + cpu::BlockPool::kAlignment, bytes)) return memory;
  }
  cpu::BlockPool::Block block = cpu::BlockPool::allocate(bytes);
  return {static_cast<std::byte*>(block.memory.release()), [](std::byte* p) { std::free(p); }};
}

}  // namespace

Workspaces::Workspaces(IdleMemory* idle) : idle_(idle) {
  if (idle_ != nullptr) idle_->add(this);
}

Workspaces::~Workspaces() {
  if (idle_ != nullptr) idle_->remove(this);
}

std::unique_ptr<Workspace> Workspaces::take(size_t arenaBytes, ThreadShare* threads) {
  std::unique_ptr<Workspace> workspace;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      workspace = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (workspace == nullptr) workspace = std::make_unique<Workspace>();
  if (workspace->arenaBytes < arenaBytes) {
    workspace->arena.reset();  // before the larger one is allocated
    workspace->arenaBytes = 0;
    workspace->arena = allocateArena(arenaBytes);
    workspace->arenaBytes = arenaBytes;
  }
  workspace->kernels.useThreads(threads);
  return workspace;
}

void Workspaces::giveBack(std::unique_ptr<Workspace> workspace) {
  workspace->kernels.reset();
  workspace->usedLast = IdleMemory::Clock::now();
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(workspace));
  }
  if (idle_ != nullptr) idle_->startWatching();
}

size_t Workspaces::count() const {
  const std::lock_guard lock(mutex_);
  return free_.size();
}

bool Workspaces::releaseUnusedSince(IdleMemory::Clock::time_point before) {
  std::vector<std::unique_ptr<Workspace>> released;  // without the lock
  const std::lock_guard lock(mutex_);
  // The stack is in the order of use.
  const auto kept = std::ranges::find_if(
      free_, [&](const auto& workspace) { return workspace->usedLast >= before; });
  released.assign(std::make_move_iterator(free_.begin()), std::make_move_iterator(kept));
  free_.erase(free_.begin(), kept);
  return !free_.empty();
}

}  // namespace halyard::cpudriver

// A stack in the order of use. The workspace on top was used last.
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

// A model does not use a much larger workspace than it needs. Otherwise small models would keep the
// memory of a large one that is not executed any more.
bool suits(size_t arenaBytes, size_t wanted) {
  constexpr size_t kSmall = size_t{1} << 20;
  return arenaBytes >= wanted && arenaBytes <= std::max(4 * wanted, kSmall);
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
    const auto suitable = std::ranges::find_if(free_.rbegin(), free_.rend(), [&](const auto& each) {
      return suits(each->arenaBytes, arenaBytes);
    });
    if (suitable != free_.rend()) {
      workspace = std::move(*suitable);
      free_.erase(std::next(suitable).base());
    }
  }
  if (workspace == nullptr) {
    workspace = std::make_unique<Workspace>();
    if (arenaBytes > 0) workspace->arena = allocateArena(arenaBytes);
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

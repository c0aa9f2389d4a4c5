// Workspaces: the memory of executions, shared by the models of a driver. An execution has a
// workspace while it runs. So memory follows the executions at once, not the models, and most of it
// is still in a processor's cache from the execution before.
// Thread safety: Workspaces may be used from any thread. A Workspace belongs to one execution.
// Ownership: Workspaces owns the free ones. Borrows the watch over idle memory.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu/block_pool.h"
#include "idle_memory.h"
#include "run_services.h"

namespace halyard::cpudriver {

struct Workspace {
  // For the temporaries of a model, which its steps write before they read them.
  std::shared_ptr<std::byte> arena;
  size_t arenaBytes = 0;
  RunServices kernels;
  cpu::BlockPool blocks;  // for the values of control flow
  IdleMemory::Clock::time_point usedLast;
};

class Workspaces final : private IdleMemory::Keeper {
 public:
  // `idle` may be null. Otherwise it must outlive the workspaces.
  explicit Workspaces(IdleMemory* idle);
  ~Workspaces() override;
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;

  // Returns a workspace with an arena of `arenaBytes` or a little more, of these the one that was
  // used last. Loops of its kernels use `threads`, which may be null. Throws std::bad_alloc.
  std::unique_ptr<Workspace> take(size_t arenaBytes, ThreadShare* threads);
  void giveBack(std::unique_ptr<Workspace> workspace);
  // The number of free workspaces.
  size_t count() const;

 private:
  bool releaseUnusedSince(IdleMemory::Clock::time_point before) override;

  IdleMemory* const idle_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_;  // the one that was used last is at the end
};

}  // namespace halyard::cpudriver

// DriverResources: the resources that the models of a driver share. They exist beyond the driver's
// end.
// Thread safety: that of its members.
// Ownership: owns them; models share it.
#pragma once

#include <array>
#include <chrono>
#include <memory>

#include "idle_memory.h"
#include "late_compiler.h"
#include "shared_packing.h"
#include "thread_share.h"
#include "workspaces.h"

namespace halyard::cpudriver {

struct DriverResources {
  explicit DriverResources(unsigned threads)
      : byPriority{ThreadShare(threads, ThreadClass::BACKGROUND, ThreadPool::kBetweenLoops),
                   ThreadShare(threads, ThreadClass::NORMAL, ThreadPool::kBetweenLoops),
                   ThreadShare(threads, ThreadClass::URGENT, ThreadPool::kBetweenLoops)} {}

  // Loops of one priority never wait for, or run in, threads of another. A pool has no threads
  // before its first loop.
  std::array<ThreadShare, 3> byPriority;
  // For executions with the least energy: no thread is woken.
  ThreadShare alone{1};
  // Memory that is kept for the next execution is given back after this time.
  IdleMemory idle{std::chrono::seconds(10)};
  std::shared_ptr<Workspaces> workspaces = std::make_shared<Workspaces>(&idle);
  ModelPieces pieces;
  // Also by priority. Must be the last member: the models that they complete need the others.
  std::array<LateCompiler, 3> late{LateCompiler(ThreadClass::BACKGROUND),
                                   LateCompiler(ThreadClass::NORMAL),
                                   LateCompiler(ThreadClass::URGENT)};
};

}  // namespace halyard::cpudriver

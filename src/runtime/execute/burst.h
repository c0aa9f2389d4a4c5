// Burst: an ANeuralNetworksBurst: executions of one compilation, one after the other.
// Thread safety: any thread; of two executions at once, one is refused.
// Ownership: refers to the compilation; keeps nothing of the executions and their memories.
#pragma once

#include <atomic>

#include "runtime/compile/compilation.h"
#include "runtime/run/plan_runner.h"

namespace halyard::runtime {

class Burst {
 public:
  // `compilation` must be valid and outlive the burst.
  explicit Burst(const Compilation& compilation)
      : compilation_(compilation), steps_(compilation.runner()) {}
  Burst(const Burst&) = delete;
  Burst& operator=(const Burst&) = delete;

  const Compilation& compilation() const { return compilation_; }
  // Held by the execution that runs; see hal::BurstTurn.
  std::atomic<bool>& busy() { return busy_; }
  // For whoever holds `busy`.
  PlanBurst& steps() { return steps_; }

 private:
  const Compilation& compilation_;
  PlanBurst steps_;
  std::atomic<bool> busy_ = false;
};

}  // namespace halyard::runtime

// Burst, an ANeuralNetworksBurst: executions of one compilation in sequence.
// Thread safety: any thread; of two executions at once, one is refused.
// Ownership: refers to the compilation; holds neither executions nor their memories.
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
  // The running execution holds it; see hal::BurstTurn.
  std::atomic<bool>& busy() { return busy_; }
  // For the holder of `busy`.
  PlanBurst& steps() { return steps_; }

 private:
  const Compilation& compilation_;
  PlanBurst steps_;
  std::atomic<bool> busy_ = false;
};

}  // namespace halyard::runtime

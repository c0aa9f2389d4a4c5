// Burst: an ANeuralNetworksBurst: executions of one compilation, one after the other.
// Thread safety: any thread; of two executions at once, one is refused.
// Ownership: refers to the compilation; keeps nothing of the executions and their memories.
#pragma once

#include <atomic>
#include <memory>

#include "runtime/compilation.h"

namespace halyard::runtime {

class Burst {
 public:
  // `compilation` must be valid and outlive the burst.
  explicit Burst(const Compilation& compilation);
  Burst(const Burst&) = delete;
  Burst& operator=(const Burst&) = delete;

  const Compilation& compilation() const { return compilation_; }
  // Held by the execution that runs; see hal::BurstTurn.
  std::atomic<bool>& busy() { return busy_; }
  // As PreparedModel::executeSynchronously, for whoever holds `busy`.
  hal::ExecutionResult execute(const hal::Request& request, const hal::ExecuteOptions& options);

 private:
  const Compilation& compilation_;
  std::unique_ptr<hal::Burst> burst_;  // null when the device has none: executions are plain ones
  std::atomic<bool> busy_ = false;
};

}  // namespace halyard::runtime

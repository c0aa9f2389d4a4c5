// Kernel: one operation of one model, or several at once, prepared as far as possible: shapes
// settled, weights rearranged, a version for this processor chosen.
// Thread safety: immutable once made; runs may then overlap in several threads.
// Ownership: a kernel owns its rearranged constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halyard/driver/status.h"
#include "ops/operation.h"

namespace halyard::cpu {

// Where a run's operands lie: `data` is by operand of the subgraph, the lists have the operation's.
struct KernelOperands {
  void* const* data;
  std::span<const uint32_t> inputs;
  std::span<const uint32_t> outputs;

  template <typename T>
  const T* input(size_t i) const {
    return static_cast<const T*>(data[inputs[i]]);
  }
  // For a kernel with an addend behind the operation's own inputs.
  template <typename T>
  const T* lastInput() const {
    return input<T>(inputs.size() - 1);
  }
  template <typename T>
  T* output(size_t i) const {
    return static_cast<T*>(data[outputs[i]]);
  }
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Computes the outputs. Operands may lie in memory that another process changes meanwhile. With
  // any contents, a kernel reads and writes only its operands. It reads no part of an output that
  // it has not written. Throws the exceptions of a body of parallelFor (base/thread_pool.h), and
  // std::bad_alloc.
  virtual Status run(const KernelOperands& operands, ops::KernelServices& services) const = 0;
  // Whether a run reads inputs behind the first that were constants when the kernel was made.
  virtual bool readsConstants() const { return true; }
};

}  // namespace halyard::cpu

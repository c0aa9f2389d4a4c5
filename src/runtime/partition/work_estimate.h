// Estimates from its shapes how long an operation takes on the CPU device.
// Thread safety: workOf is a pure function; a WorkEstimator is for one thread.
// Ownership: an estimator keeps memory only for its next estimate.
#pragma once

#include <vector>

#include "halyard/driver/model.h"
#include "ops/operation.h"

namespace halyard::runtime {

// The speed of the CPU device with all its threads.
struct CpuFigures {
  double productsPerNs = 10;  // multiply-add operations, in matrix products
  double elementsPerNs = 1;   // result elements, in all other operations
  double bytesPerNs = 8;      // read and written
  double operationNs = 500;   // overhead of each operation
};

struct WorkEstimate {
  double nanoseconds = 0;
  bool guessed = false;  // unknown dimensions were counted as 1
};

// The work of an operation, as far as its definition knows.
struct OperationWork {
  double products = 0;  // multiply-add pairs; 0: unknown or zero
  double elements = 0;  // elements of its largest operand that is no constant
  double results = 0;   // elements of its outputs
  double bytes = 0;     // of all operands
  bool guessed = false;
};
OperationWork workOf(const Subgraph& subgraph, const Operation& operation);

// The same for many operations in sequence.
class WorkEstimator {
 public:
  OperationWork workOf(const Subgraph& subgraph, const Operation& operation);
  WorkEstimate estimateOnCpu(const Subgraph& subgraph, const Operation& operation,
                             const CpuFigures& cpu);

 private:
  std::vector<ops::Tensor> inputs_;
  std::vector<ops::Tensor> outputs_;
};

}  // namespace halyard::runtime

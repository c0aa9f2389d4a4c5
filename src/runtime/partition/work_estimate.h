// Estimates from its shapes how long an operation takes on the CPU device.
// Thread safety: workOf is a pure function; a WorkEstimator is for one thread.
// Ownership: an estimator keeps memory for its next question only.
#pragma once

#include <vector>

#include "halyard/driver/model.h"
#include "ops/operation.h"

namespace halyard::runtime {

// What the CPU device achieves with all its threads.
struct CpuFigures {
  double productsPerNs = 10;  // multiply and add, in matrix products
  double elementsPerNs = 1;   // of results, in all other operations
  double bytesPerNs = 8;      // read and written
  double operationNs = 500;   // to get to an operation at all
};

struct WorkEstimate {
  double nanoseconds = 0;
  bool guessed = false;  // unknown dimensions were counted as 1
};

// What an operation does to its operands, as far as its definition knows.
struct OperationWork {
  double products = 0;  // multiplications and additions, in pairs; 0: not known, or none
  double elements = 0;  // of its largest operand that is no constant
  double results = 0;   // elements of its outputs
  double bytes = 0;     // of all operands
  bool guessed = false;
};
OperationWork workOf(const Subgraph& subgraph, const Operation& operation);

// The same for many operations, one after the other.
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

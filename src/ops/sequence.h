// Code shared by cells that run along a sequence: the order of its steps, the products of their
// gates and the loop over the steps.
// Thread safety: runSequence and multiplyGates are reentrant.
// Ownership: all borrow.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "ops/operation.h"

namespace halyard::ops {

// The position of each step of each sequence of the batch. Time-major tensors are
// [steps][batch][...], the others [batch][steps][...]. Backward order begins with the last step.
struct SequenceOrder {
  size_t steps = 1;
  size_t batch = 1;
  bool timeMajor = true;
  bool backward = false;

  size_t row(size_t step, size_t b) const {
    const size_t time = backward ? steps - 1 - step : step;
    return timeMajor ? time * batch + b : b * steps + time;
  }
};

// The weights of a cell's gates for one kind of input: [cells][depth] each.
struct GateWeights {
  std::vector<const float*> matrices;
  size_t cells = 0;
  size_t depth = 0;
  size_t width() const { return matrices.size() * cells; }
};

// Forwards to other services, but returns the same scratch memory again after each rewind. A kernel
// can then call another one for each step of a sequence without growing memory.
class RewindingServices : public KernelServices {
 public:
  explicit RewindingServices(KernelServices& base) : base_(base) {}
  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t begin, size_t end)>& body) override {
    base_.parallelFor(count, grain, body);
  }
  // Must not be called in the bodies of loops.
  void* scratch(size_t bytes) override;
  void rewind() { next_ = 0; }

 private:
  struct Block {
    void* data;
    size_t bytes;
  };
  KernelServices& base_;
  std::vector<Block> blocks_;
  size_t next_ = 0;
};

// sums[r][g * cells + c] = (sums, with `add`, +) rows[r] . weights.matrices[g][c]. `rowAt(r)`
// returns the `depth` values of a row.
void multiplyGates(RewindingServices& services, size_t rows,
                   const std::function<const float*(size_t row)>& rowAt, const GateWeights& weights,
                   bool add, float* sums);
// The same for contiguous rows.
void multiplyGates(RewindingServices& services, size_t rows, const float* values,
                   const GateWeights& weights, bool add, float* sums);

// One input sequence of the gates, in the SequenceOrder.
struct SequenceInput {
  const float* values = nullptr;
  GateWeights weights;
};

// The destination of one direction's results: row SequenceOrder::row of a tensor whose rows have
// `stride` values.
struct SequenceOutput {
  float* values = nullptr;
  size_t stride = 0;
};

// For each step in order, calls `step(services, s, sums)` with the products of all inputs,
// [batch][width of the gates], which it may overwrite. There is at least one input, and all have
// the same numbers of matrices and cells.
void runSequence(
    KernelServices& services, const SequenceOrder& order, std::span<const SequenceInput> inputs,
    const std::function<void(RewindingServices& services, size_t s, float* sums)>& step);

// Stores one step's `width` values of each sequence of the batch.
void storeStep(const SequenceOrder& order, size_t s, const float* values, size_t width,
               const SequenceOutput& output);

}  // namespace halyard::ops

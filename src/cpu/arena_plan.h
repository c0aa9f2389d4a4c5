// Arena plan: offsets of tensors in one block of memory, from their lifetimes.
// Thread safety: a planner is for one thread; planArena is a pure function.
// Ownership: results own their data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace halyard::cpu {

// One tensor, alive from step `first` to step `last`, both included.
struct ArenaTensor {
  size_t bytes = 0;
  size_t first = 0;
  size_t last = 0;
};

struct ArenaPlan {
  std::vector<size_t> offsets;  // by tensor, in bytes; multiples of the alignment
  size_t bytes = 0;             // size of the whole block
};

// Places the tensors so that no two that are alive at the same time overlap. The largest tensor
// comes first, and each goes into the smallest gap that holds it. This is "greedy by size" of
// Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020. The time is
// quadratic in the number of tensors. `alignment` is a power of two.
ArenaPlan planArena(const std::vector<ArenaTensor>& tensors, size_t alignment);

struct OperandPlaces {
  std::vector<std::optional<size_t>> offsets;  // by operand, in bytes
  size_t bytes = 0;                            // size of the whole block
};

// Collects the lifetimes of a subgraph's temporaries from its steps, and places them.
class LifetimePlanner {
 public:
  explicit LifetimePlanner(size_t operands) : entries_(operands) {}

  // Step `step` writes the operand, which gets a place of `bytes` bytes.
  void write(uint32_t operand, size_t bytes, size_t step);
  // The operand is still alive at step `step`. This has no effect on operands without a place.
  void extend(uint32_t operand, size_t step);

  size_t tensorCount() const { return tensors_.size(); }
  // Returns the places of the operands that steps write. The alignment is as for planArena.
  OperandPlaces place(size_t alignment) const;

 private:
  std::vector<std::optional<size_t>> entries_;  // by operand: index in tensors_
  std::vector<ArenaTensor> tensors_;
};

}  // namespace halyard::cpu

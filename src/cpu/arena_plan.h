// Arena plan: offsets of tensors in one block of memory, from their lifetimes.
// Thread safety: a pure function.
// Ownership: none.
#pragma once

#include <cstddef>
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

}  // namespace halyard::cpu

// Attention: softmax(queries x keys) x values, without the whole matrix of scores in memory.
// Thread safety: pure functions.
// Ownership: kernels are the caller's.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/kernel.h"

namespace halyard::cpudriver {

// Matrices of floats: queries [batch][rows][depth], keys [batch][keys][depth], values
// [batch][keys][width], and the result [batch][rows][width].
struct AttentionShape {
  size_t batch = 1;
  size_t rows = 0;
  size_t keys = 0;
  size_t depth = 0;
  size_t width = 0;
  bool areKeysColumns = false;  // [batch][depth][keys]
  // Of each operand: the matrices whose rows lie side by side, as in [batch / heads][rows][heads]
  // [depth]. 1 for keys that are columns.
  size_t queryHeads = 1;
  size_t keyHeads = 1;
  size_t valueHeads = 1;
  size_t resultHeads = 1;
  float factor = 1;  // of the scores
  float beta = 1;    // of the softmax
  // A summand of the scores: its elements from a batch and from a row to the next.
  bool hasMask = false;
  size_t maskOfBatch = 0;
  size_t maskOfRow = 0;
};

// Whether `heads` matrices with so many columns should lie side by side. The kernel is better
// without rows that compete for a few places of the first-level cache.
bool canHaveHeads(size_t heads, size_t columns);

// For output 0 and the inputs queries, keys, values and, if there is one, the mask. `isRelaxed` as
// KernelSite: of the products, not of the softmax.
std::unique_ptr<Kernel> makeAttention(const AttentionShape& shape, bool isRelaxed);

}  // namespace halyard::cpudriver

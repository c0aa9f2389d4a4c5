// The operands of float products: rows whose values lie in pieces, and the columns of constant
// weights.
// Thread safety: pure functions.
// Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace halyard::cpudriver {

// Rows whose values lie in pieces of the same length.
struct PieceRows {
  const std::byte* first;
  size_t stride;  // bytes from a row to the next
  size_t count;
  std::span<const ptrdiff_t> pieces;  // where each begins, in elements from the row
  // The addend of the results, with the same layout; may be null.
  const std::byte* addend;
};

// Where the values of a column are.
using ColumnAt = std::function<const float*(size_t column)>;

// Columns [begin, end), each of `depth` values, to one panel: to[k][column - begin], `width` apart.
void packPanel(const ColumnAt& columnAt, size_t begin, size_t end, size_t depth, size_t width,
               float* to);

}  // namespace halyard::cpudriver

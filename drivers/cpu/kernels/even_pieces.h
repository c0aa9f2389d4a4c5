// Dividing work into pieces. Thread safety: pure functions. Ownership: none.
#pragma once

#include <cstddef>

namespace halyard::cpudriver {

constexpr size_t divideUp(size_t value, size_t by) { return (value + by - 1) / by; }

// `rows` in pieces of at most `most` that differ by one at most: calls f(begin, count).
template <typename F>
void forEvenPieces(size_t rows, size_t most, F f) {
  const size_t pieces = divideUp(rows, most);
  for (size_t i = 0, begin = 0; i < pieces; ++i) {
    const size_t end = rows * (i + 1) / pieces;
    f(begin, end - begin);
    begin = end;
  }
}

}  // namespace halyard::cpudriver

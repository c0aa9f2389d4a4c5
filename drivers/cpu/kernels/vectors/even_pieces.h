// Dividing work into pieces.
// Thread safety: pure functions.
// Ownership: none.
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

// Work that a product of blocks of rows and panels of columns is divided into: item i is panel
// i % panels of block i / panels. Neighbouring items have the rows in common.
//
// Calls f(blockBegin, blockEnd, panelBegin, panelEnd) for what items [begin, end) are: whole blocks
// at once, and parts of a block.
template <typename F>
void forBlocksOfItems(size_t begin, size_t end, size_t panels, F f) {
  while (begin < end) {
    const size_t block = begin / panels;
    const size_t panel = begin % panels;
    const size_t wholeBlocks = panel == 0 ? (end - begin) / panels : 0;
    if (wholeBlocks > 0) {
      f(block, block + wholeBlocks, size_t{0}, panels);
      begin += wholeBlocks * panels;
    } else {
      const size_t count = panel + (end - begin) < panels ? end - begin : panels - panel;
      f(block, block + 1, panel, panel + count);
      begin += count;
    }
  }
}

// The grain (KernelServices::parallelFor) of `count` items of `work` each, so that a range takes at
// least `leastWork`. It is `count`, where all items together are not worth `worthThreads`.
constexpr size_t grainOf(size_t count, size_t work, size_t leastWork, size_t worthThreads) {
  if (work == 0 || count <= worthThreads / work) return count;
  return divideUp(leastWork, work);
}

}  // namespace halyard::cpudriver

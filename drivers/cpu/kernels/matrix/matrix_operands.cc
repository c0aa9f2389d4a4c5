#include "kernels/matrix/matrix_operands.h"

#include <cstdint>

#include "ops/transpose_block.h"

namespace halyard::cpudriver {

// Transposes as many columns at a time as lie equally far apart.
void packPanel(const ColumnAt& columnAt, size_t begin, size_t end, size_t depth, size_t width,
               float* to) {
  const auto apart = [](const float* a, const float* b) {
    return reinterpret_cast<uintptr_t>(b) - reinterpret_cast<uintptr_t>(a);
  };
  for (size_t column = begin; column < end;) {
    const float* const first = columnAt(column);
    const float* last = first;
    uintptr_t stride = 0;
    size_t count = 1;
    for (; column + count < end; ++count) {
      const float* const next = columnAt(column + count);
      if (count > 1 && apart(last, next) != stride) break;
      stride = apart(last, next);
      if (stride % sizeof(float) != 0 || stride > PTRDIFF_MAX) break;
      last = next;
    }
    ops::transposeBlock(first, stride / sizeof(float), count, depth, to + (column - begin), width);
    column += count;
  }
}

}  // namespace halyard::cpudriver

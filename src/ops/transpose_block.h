// Transposed matrices of elements of 1, 2, 4 or 8 bytes, 16 or 8 bytes at a time.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "ops/simd.h"

namespace halyard::ops {

namespace internal {

template <typename T, size_t kCount>
struct Lanes {
  typedef T Vector __attribute__((vector_size(kCount * sizeof(T))));
};

// Interleaves the first or the last halves of two vectors, element by element.
template <bool kIsHigh, typename Vector, size_t... kIndex>
HALYARD_ALWAYS_INLINE Vector zip(const Vector& a, const Vector& b, std::index_sequence<kIndex...>) {
  constexpr size_t kCount = sizeof...(kIndex);
  constexpr size_t kFirst = kIsHigh ? kCount / 2 : 0;
  return __builtin_shufflevector(
      a, b, static_cast<int>(kFirst + kIndex / 2 + (kIndex % 2 == 1 ? kCount : 0))...);
}

// Transposes one square of kCount rows and columns; strides in elements. Each round of zips moves
// one bit of an element's position from the row to the column.
template <size_t kCount, typename T>
HALYARD_ALWAYS_INLINE void transposeSquare(const T* from, size_t fromStride, T* to,
                                           size_t toStride) {
  using Vector = typename Lanes<T, kCount>::Vector;
  constexpr auto kIndexes = std::make_index_sequence<kCount>();
  Vector rows[kCount];
  for (size_t r = 0; r < kCount; ++r) std::memcpy(&rows[r], from + r * fromStride, sizeof(Vector));
  for (size_t round = 1; round < kCount; round *= 2) {
    Vector next[kCount];
    for (size_t i = 0; i < kCount / 2; ++i) {
      next[2 * i] = zip<false>(rows[i], rows[i + kCount / 2], kIndexes);
      next[2 * i + 1] = zip<true>(rows[i], rows[i + kCount / 2], kIndexes);
    }
    std::copy(next, next + kCount, rows);
  }
  for (size_t r = 0; r < kCount; ++r) std::memcpy(to + r * toStride, &rows[r], sizeof(Vector));
}

}  // namespace internal

// to[c * toStride + r] = from[r * fromStride + c], strides in elements. The ranges must not
// overlap.
template <typename T>
void transposeBlock(const T* from, size_t fromStride, size_t rows, size_t columns, T* to,
                    size_t toStride) {
  constexpr size_t kCount = 16 / sizeof(T);
  // Tiles of several cache lines on both sides.
  constexpr size_t kTile = 128 / sizeof(T) < 64 ? 64 : 128 / sizeof(T);
  // Elements need not be aligned.
  const auto copyOne = [&](size_t r, size_t c) {
    std::memcpy(to + c * toStride + r, from + r * fromStride + c, sizeof(T));
  };
  for (size_t rowTile = 0; rowTile < rows; rowTile += kTile) {
    const size_t rowEnd = std::min(rowTile + kTile, rows);
    for (size_t columnTile = 0; columnTile < columns; columnTile += kTile) {
      const size_t columnEnd = std::min(columnTile + kTile, columns);
      size_t c = columnTile;
      for (; c + kCount <= columnEnd; c += kCount) {
        size_t r = rowTile;
        for (; r + kCount <= rowEnd; r += kCount) {
          internal::transposeSquare<kCount>(from + r * fromStride + c, fromStride,
                                            to + c * toStride + r, toStride);
        }
        if constexpr (kCount >= 8) {
          constexpr size_t kHalf = kCount / 2;
          if (r + kHalf <= rowEnd) {
            for (size_t column = c; column < c + kCount; column += kHalf) {
              internal::transposeSquare<kHalf>(from + r * fromStride + column, fromStride,
                                               to + column * toStride + r, toStride);
            }
            r += kHalf;
          }
        }
        for (size_t column = c; column < c + kCount; ++column) {
          for (size_t row = r; row < rowEnd; ++row) copyOne(row, column);
        }
      }
      for (; c < columnEnd; ++c) {
        for (size_t row = rowTile; row < rowEnd; ++row) copyOne(row, c);
      }
    }
  }
}

}  // namespace halyard::ops

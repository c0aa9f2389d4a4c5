// The transformations of F(2 x 2, 3 x 3): of tiles of an image, of filters, and of their products.
// S. Winograd, Arithmetic Complexity of Computations, 1980; A. Lavin and S. Gray, Fast Algorithms
// for Convolutional Neural Networks, 2015.
// Thread safety: pure functions.
// Ownership: borrows everything.
//
// A convolution of 3 x 3 makes the 2 x 2 results of a tile of 4 x 4 cells from 16 products. The
// plain sum needs 36. Let d be the cells, and g the filter. With products summed over the channels,
// result = A' ((G g G') * (B' d B)) A.
#pragma once

#include <array>
#include <cstddef>

#include "ops/simd.h"

namespace halyard::cpudriver {

inline constexpr size_t kWinogradCells = 16;   // of a tile, and products for each result's channel
inline constexpr size_t kWinogradResults = 4;  // of a tile

// out[i * apart + c] = element i of B' d B for each channel c.
struct WinogradTile {
  std::array<const float*, kWinogradCells> cells;  // where each one's first channel is; row by row
  size_t channels;
  float* out;
  size_t apart;  // elements
};

// out[i * apart + c] = element i of G g G' for each channel c.
struct WinogradFilter {
  const float* taps;  // [3][3][channels]
  size_t channels;
  float* out;
  size_t apart;  // elements
};

// out[r][c] = clamp(result r of A' m A + bias[c] + addend[r][c]) for each channel c, where element
// i of m is products[i * apart + c].
struct WinogradProducts {
  const float* products;
  size_t apart;  // elements
  size_t channels;
  const float* bias;  // whole vectors of it can be read
  float low;          // the clamp keeps NaN
  float high;
  std::array<float*, kWinogradResults> out;           // null: not wanted
  std::array<const float*, kWinogradResults> addend;  // null: 0
};

struct WinogradFunctions {
  void (*transformTile)(const WinogradTile& tile);
  void (*transformFilter)(const WinogradFilter& filter);
  void (*transformProducts)(const WinogradProducts& products);
};

WinogradFunctions winogradFunctions(ops::SimdLevel level);

}  // namespace halyard::cpudriver

// Products of matrices that are both known only when the model runs: the right one is packed panel
// by panel on the way.
// Thread safety: pure functions.
// Ownership: kernels are the caller's.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/kernel.h"
#include "kernels/matrix/gemm_float.h"
#include "ops/activation.h"

namespace halyard::cpudriver {

// Input 0 times input 1, matrix by matrix. Rows are those of the left side and of the output.
struct MatmulSizes {
  size_t batch = 1;
  size_t rows = 0;
  size_t columns = 0;
  size_t depth = 0;
  bool isLeftTransposed = false;   // [depth][rows] instead of [rows][depth]
  bool isRightTransposed = false;  // [columns][depth] instead of [depth][columns]
  size_t rightApart = 0;           // elements from a row of the right side to the next; 0: no gaps

  size_t leftElements() const { return rows * depth; }
  size_t rightStride() const {
    return rightApart != 0 ? rightApart : isRightTransposed ? depth : columns;
  }
  size_t rightElements() const { return depth * columns; }
  size_t outputElements() const { return rows * columns; }
};

// `bias` is the constant input that is added to each row, `columns` values; 0: none. Null where
// there are no micro kernels for the types, and where 8 bit sums might not fit 32 bits.
std::unique_ptr<Kernel> makeMatmul(const KernelSite& site, const MatmulSizes& sizes, size_t bias,
                                   ops::FuseCode activation);

// The members that both kinds of numbers share.

// One panel of columns of one matrix times some rows.
struct MatmulItem {
  size_t matrix;
  size_t column;   // the first
  size_t columns;  // at most the panel's
  size_t rowBegin;
  size_t rowEnd;
};

// Calls f(item) for all of the product, from several threads.
void forEachMatmulItem(const MatmulSizes& sizes, size_t panelColumns, size_t productsForThread,
                       ops::KernelServices& services,
                       const std::function<void(const MatmulItem& item)>& f);

// Columns [column, column + columns) of one right side, in the order of the micro kernels.
void packRightPanel(const FloatGemm& gemm, const MatmulSizes& sizes, const float* right,
                    size_t column, size_t columns, float* packed);

// Products of so many rows with one panel: `tile` is for the first row, with any number of rows
// behind it.
void multiplyPanel(const FloatGemm& gemm, FloatTile tile, size_t rows);

// Products that are worth a range of items, and bytes to copy.
inline constexpr size_t kMatmulProducts = 400'000;
inline constexpr size_t kMatmulBytes = 64 * 1024;

// The best distance of rows of `bytes`, in bytes. It is a multiple of `granularity`, and rows do
// not compete for a few places of the first-level cache.
size_t matmulRowStride(size_t bytes, size_t granularity);

std::unique_ptr<Kernel> makeQuant8Matmul(const KernelSite& site, const MatmulSizes& sizes,
                                         size_t bias, ops::FuseCode activation);

}  // namespace halyard::cpudriver

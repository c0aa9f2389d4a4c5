// RelaxedPanels: panels of columns of a float matrix, for products with the range and precision of
// float16 or more. Factors are packed, and rows are prepared, as numbers of 16 bits:
//
//  - for arithmetic of float16: as float16. Sums of 64 terms are float16, and sums of these
//    float32.
//  - for a unit for tiles: as the sum of two numbers of bfloat16, which keeps 15 bits
//    (split_tiles.h). Sums are float32. An infinite value makes its sums NaN.
//
// Thread safety: immutable.
// Ownership: knows the sizes of the matrix. The packed factors are the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/matrix/gemm_float.h"
#include "kernels/matrix/matrix_operands.h"
#include "kernels/matrix/tile_result.h"
#include "ops/activation.h"
#include "ops/simd.h"

namespace halyard::cpudriver {

// Where products go: see PackedFloats::multiply.
struct RelaxedResults {
  const float* bias;    // [panels * panel columns], 0 behind the columns
  const float* addend;  // as `out`; may be null
  ops::ClampRange<float> range;
  size_t panelBegin;
  size_t panelEnd;
  float* out;
  size_t outStride;  // elements
};

class RelaxedPanels {
 public:
  virtual ~RelaxedPanels() = default;
  RelaxedPanels(const RelaxedPanels&) = delete;
  RelaxedPanels& operator=(const RelaxedPanels&) = delete;

  // Null where the instructions have no such arithmetic, or where float32 takes no longer. `rows`:
  // of most products; 0: not known. Panels have the columns of FloatGemm.
  static std::unique_ptr<const RelaxedPanels> make(ops::SimdLevel level, size_t columns,
                                                   size_t depth, size_t rows);

  // Elements of all packed factors.
  size_t packedElements() const;
  // The lines of a panel of floats for pack(). Those behind the depth are zeros.
  size_t paddedDepth() const { return paddedDepth_; }
  // `floats`: [paddedDepth()][packed columns of the panel]. `packed`: of all panels.
  virtual void pack(size_t panel, const float* floats, uint16_t* packed) const = 0;

  // Elements from a prepared row to the next.
  size_t rowStride() const { return rowStride_; }
  // All of `rows` as multiply reads them. Their addend is not looked at.
  virtual void prepare(const PieceRows& rows, uint16_t* to) const = 0;
  // Of prepared rows with packed factors.
  virtual void multiply(const uint16_t* packed, const uint16_t* rows, size_t count,
                        const RelaxedResults& results) const = 0;

 protected:
  // `elements`: of a prepared row, and of a packed column.
  RelaxedPanels(const FloatGemm& gemm, size_t columns, size_t depth, size_t paddedDepth,
                size_t elements);

  size_t depth() const { return depth_; }
  size_t width() const { return gemm_.panelColumns; }
  // The last panel may have less, and is packed as half a panel if these are enough.
  size_t columnsOf(size_t panel) const;
  bool isNarrow(size_t panel) const { return gemm_.isNarrow(columnsOf(panel)); }
  size_t packedColumnsOf(size_t panel) const { return gemm_.packedColumns(columnsOf(panel)); }
  size_t placeOf(size_t panel) const { return panel * width() * elements_; }
  // Makes `tile` that of the rows from row `row` on. Its other results are there.
  void place(size_t row, size_t panel, const RelaxedResults& results, TileResult& tile) const;

 private:
  const FloatGemm& gemm_;
  const size_t columns_;
  const size_t depth_;
  const size_t paddedDepth_;
  const size_t elements_;
  size_t rowStride_;
};

}  // namespace halyard::cpudriver

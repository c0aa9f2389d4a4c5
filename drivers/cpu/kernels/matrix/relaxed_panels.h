// RelaxedPanels: a float matrix in panels of columns, for products with the range and precision of
// float16 or more. Factors are stored, and rows are prepared, as numbers of 16 bits:
//
//  - for arithmetic of float16: as float16. Sums of 64 terms are float16, and sums of these
//  float32.
//  - for a unit for tiles: as the sum of two numbers of bfloat16, which keeps 15 bits
//    (split_tiles.h). Sums are float32. An infinite value makes its sums NaN.
//
// Thread safety: immutable.
// Ownership: owns its rearranged matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/kernel.h"
#include "kernels/matrix/matrix_operands.h"
#include "ops/activation.h"

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

  // Null where the site does not allow it, or where float32 takes no longer. `rows`: of most
  // products; 0: not known. Panels have the columns of FloatGemm.
  static std::unique_ptr<const RelaxedPanels> make(const KernelSite& site, size_t columns,
                                                   size_t depth, const ColumnAt& columnAt,
                                                   size_t rows);

  // Elements from a prepared row to the next.
  size_t rowStride() const { return rowStride_; }
  virtual size_t packedBytes() const = 0;
  // All of `rows` as multiply reads them. Their addend is not looked at.
  virtual void prepare(const PieceRows& rows, uint16_t* to) const = 0;
  // Of prepared rows.
  virtual void multiply(const uint16_t* rows, size_t count,
                        const RelaxedResults& results) const = 0;

 protected:
  // `elements` of a prepared row.
  explicit RelaxedPanels(size_t elements);

 private:
  size_t rowStride_;
};

}  // namespace halyard::cpudriver

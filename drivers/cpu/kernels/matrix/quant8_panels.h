// 8 bit weights in panels of columns, in the layout of a processor's micro kernels, and their
// products with rows.
// Thread safety: immutable once made.
// Ownership: owns its rearranged weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/matrix/gemm_quant8.h"
#include "kernels/matrix/quant8_weights.h"
#include "kernels/vectors/aligned_buffer.h"

namespace halyard::cpudriver {

struct Quant8Rows {
  const uint8_t* first;
  size_t stride;  // bytes from a row to the next
  size_t count;
  bool isSigned;         // where factors are bytes
  const int32_t* terms;  // for each row, see Quant8Tile; may be null
  // Where a row's pieces begin, in bytes from the row; their length is a multiple of 4. None: rows
  // are whole. See Quant8Gemm::pieces.
  std::span<const ptrdiff_t> pieces = {};
};

class Quant8Panels {
 public:
  // Of a site's filter, [columns][depth] however it is shaped, which is released.
  Quant8Panels(const KernelSite& site, const Quant8Gemm& gemm, const Quant8Weights& weights,
               size_t columns);

  size_t count() const { return panels_; }
  size_t depth() const { return depth_; }

  // Computes the columns of panels [panelBegin, panelEnd). `out` is the place of the first row's
  // first column of the whole matrix. Its rows are as many bytes apart as there are columns.
  void multiply(const Quant8Rows& rows, size_t panelBegin, size_t panelEnd, uint8_t* out) const;

 private:
  bool isHalf(size_t panel) const { return hasHalfPanel_ && panel + 1 == panels_; }
  size_t placeOf(size_t column) const;
  size_t widthOf(size_t panel) const {
    return isHalf(panel) ? gemm_.panelColumns / 2 : gemm_.panelColumns;
  }
  template <size_t kUnit>
  void packPanel(const Quant8Weights& weights, size_t panel, uint8_t* packed) const;
  void packWholePanel(const Quant8Weights& weights, size_t panel, const uint8_t* from,
                      uint8_t* to) const;
  int32_t bias(const Quant8Weights& weights, size_t column) const;
  Quant8Tile tileOf(const Quant8Rows& rows) const;
  void setPanel(size_t panel, Quant8Tile* tile) const;
  void multiplyTiles(const Quant8Rows& rows, size_t panelBegin, size_t panelEnd,
                     uint8_t* out) const;

  const Quant8Gemm& gemm_;
  const size_t columns_;
  const size_t depth_;
  const size_t units_;
  const size_t panels_;
  const Quant8Result result_;
  bool hasHalfPanel_ = false;  // the last one, of one vector
  Packed<uint8_t> packed_;
  Packed<int32_t> bias_;
  AlignedBuffer<float> multiplier_;
};

}  // namespace halyard::cpudriver

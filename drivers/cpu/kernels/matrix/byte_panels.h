// BytePanels: float weights that are ByteColumns, in panels of bytes, and their products with rows
// of bytes.
// Thread safety: immutable once made.
// Ownership: owns its rearranged weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/kernel.h"
#include "kernels/matrix/byte_steps.h"
#include "kernels/matrix/gemm_quant8.h"
#include "kernels/vectors/aligned_buffer.h"
#include "ops/activation.h"

namespace halyard::cpudriver {

// Row r stands for the values steps[r] * (byte - zeros[r]).
struct ByteRows {
  const uint8_t* first;
  size_t stride;  // bytes from a row to the next; rowBytes() are read
  size_t count;
  const float* steps;
  const float* zeros;   // whole, 0 to 255
  const float* addend;  // of the results, with their layout; may be null
};

class BytePanels {
 public:
  // Made of a site's bias and its filter, which is released. The filter is [columns][depth], with
  // any shape. Empty where weights are no such multiples, or sums might not fit 32 bits. Also empty
  // where the level has no kernels for real results.
  static std::optional<BytePanels> make(const KernelSite& site, size_t columns);

  size_t count() const { return panels_; }
  size_t columns() const { return columns_; }
  size_t depth() const { return depth_; }
  size_t rowBytes() const { return units_ * gemm_->unitValues(); }  // bytes read of a row

  // With so many rows, each takes no longer than with more.
  size_t rowsAtOnce() const { return std::min<size_t>(gemm_->maxRows, 8); }

  // clamp(row . column + bias + addend) for the columns of panels [panelBegin, panelEnd). `out` is
  // where the first row's first column of all goes; rows of it are as many elements apart as there
  // are columns. The addend may be in the same place.
  void multiply(const ByteRows& rows, const ops::ClampRange<float>& range, size_t panelBegin,
                size_t panelEnd, float* out) const;

 private:
  BytePanels(const KernelSite& site, const Quant8Gemm& gemm, const ByteColumns& columns,
             size_t depth);
  bool isHalf(size_t panel) const { return hasHalfPanel_ && panel + 1 == panels_; }
  size_t widthOf(size_t panel) const {
    return isHalf(panel) ? gemm_->panelColumns / 2 : gemm_->panelColumns;
  }
  void packPanel(const ByteColumns& columns, size_t panel, uint8_t* packed, float* sums) const;

  const Quant8Gemm* gemm_;
  size_t columns_;
  size_t depth_;
  size_t units_;             // of unitValues()
  const Quant8Gemm* tiles_;  // that take less time for most products; may be null
  size_t panels_;
  bool hasHalfPanel_ = false;  // the last one, of one vector
  Packed<uint8_t> packed_;
  Packed<float> columnSums_;
  Packed<float> columnSteps_;
  AlignedBuffer<float> bias_;
  AlignedBuffer<int32_t> zeros_;  // of a panel
};

}  // namespace halyard::cpudriver

// PackedFloats: a float matrix in panels of columns, as the micro kernels multiply with it. A large
// matrix of ByteColumns is packed as bytes, if its products wait for memory or have many rows.
// Others are packed as RelaxedPanels, if the site allows it.
// Thread safety: immutable.
// Ownership: owns its rearranged matrix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/matrix/byte_steps.h"
#include "kernels/matrix/gemm_float.h"
#include "kernels/matrix/matrix_operands.h"
#include "kernels/matrix/relaxed_panels.h"
#include "kernels/vectors/aligned_buffer.h"
#include "ops/activation.h"

namespace halyard::cpudriver {

class PackedFloats {
 public:
  PackedFloats() = default;
  // `bias`: for each column; null: 0. `rows`: of most products; 0: not known. `mayBeBytes`: whether
  // the matrix may be packed as bytes, for which rows must be known.
  PackedFloats(const KernelSite& site, size_t columns, size_t depth, const ColumnAt& columnAt,
               const float* bias, size_t rows = 0, bool mayBeBytes = true);
  // Of constant inputs of the site, which are released: the columns of the first one come first.
  // Each input has `columns` of them.
  static PackedFloats ofInputs(const KernelSite& site, const std::vector<size_t>& inputs,
                               size_t columns, size_t depth, const float* bias, size_t rows,
                               bool mayBeBytes = true);

  size_t columns() const { return columns_; }
  size_t depth() const { return depth_; }
  size_t panels() const { return panels_; }
  // The panels, if the matrix is packed that way; otherwise null.
  const RelaxedPanels* relaxed() const { return relaxed_.get(); }
  size_t packedBytes() const {
    return packed_.size() * sizeof(float) + bytes_.size() +
           relaxedFactors_.size() * sizeof(uint16_t);
  }
  // out[r][c] = clamp(rows[r] . column c + bias[c] + addend[r][c]) for the columns of panels
  // [panelBegin, panelEnd). `out` is the place of the first row's first column of the whole matrix.
  // Rows of `out` and of the addend are `outStride` elements apart. Both may be the same.
  void multiply(const PieceRows& rows, const ops::ClampRange<float>& range, size_t panelBegin,
                size_t panelEnd, float* out, size_t outStride) const;
  // The same with rows that relaxed() has prepared.
  void multiplyPrepared(const std::byte* rows, size_t count, const std::byte* addend,
                        const ops::ClampRange<float>& range, size_t panelBegin, size_t panelEnd,
                        float* out, size_t outStride) const;

 private:
  // Without factors.
  PackedFloats(const KernelSite& site, size_t columns, size_t depth, const float* bias);
  // Whether products of so many rows take no longer with bytes.
  static bool suitsBytes(size_t columns, size_t depth, size_t rows);
  void packFloats(const KernelSite& site, const ColumnAt& columnAt);
  void packBytes(const KernelSite& site, const ByteColumns& columns);
  void packRelaxed(const KernelSite& site, const ColumnAt& columnAt);
  // `pack(panel, first, end)` for the panels of a part, which have columns [first, end).
  void forPanels(const KernelSite& site,
                 const std::function<void(size_t panel, size_t first, size_t end)>& pack) const;
  // Of all panels.
  size_t packedColumns() const {
    return (panels_ - 1) * gemm_->panelColumns + packedColumnsOf(panels_ - 1);
  }
  bool isOfBytes() const { return steps_.size() > 0; }
  // How many columns are packed for a panel.
  size_t packedColumnsOf(size_t panel) const {
    const size_t left = columns_ - panel * gemm_->panelColumns;
    return gemm_->packedColumns(std::min(left, gemm_->panelColumns));
  }
  const float* widened(size_t panel) const;
  void multiplyRowOfBytes(const PieceRows& row, const ops::ClampRange<float>& range,
                          size_t panelBegin, size_t panelEnd, float* out) const;
  void multiplyRelaxed(const PieceRows& rows, RelaxedResults results) const;

  const FloatGemm* gemm_ = nullptr;
  size_t columns_ = 0;
  size_t depth_ = 0;
  size_t panels_ = 0;
  Packed<float> packed_;
  Packed<int8_t> bytes_;                          // instead, if there are steps
  std::unique_ptr<const RelaxedPanels> relaxed_;  // instead; may be null
  Packed<uint16_t> relaxedFactors_;               // of `relaxed_`
  AlignedBuffer<float> steps_;
  AlignedBuffer<float> bias_;
};

}  // namespace halyard::cpudriver

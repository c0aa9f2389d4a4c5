// MatrixLayer: weights, bias and activation of a layer that multiplies rows with them, rearranged
// for the micro kernels of this processor.
// Thread safety: immutable once made.
// Ownership: owns its rearranged weights.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "kernels/kernel.h"
#include "kernels/matrix/packed_floats.h"
#include "ops/activation.h"

namespace halyard::cpudriver {

class MatrixLayer {
 public:
  virtual ~MatrixLayer() = default;

  size_t depthBytes() const { return depthBytes_; }  // of a row
  // The least distance of rows, in bytes. Distances must be multiples of it. All of its bytes can
  // be read.
  size_t rowGranularity() const { return rowGranularity_; }
  size_t outputRowBytes() const { return outputRowBytes_; }
  size_t columns() const { return outputRowBytes_ / elementBytes_; }
  size_t panels() const { return panels_; }
  // How many products a row takes.
  size_t productsOfRow() const { return depthBytes_ / elementBytes_ * columns(); }
  // The grain of `items` that all have to do with as many of `rows` rows' products.
  size_t grain(size_t items, size_t rows) const;
  // Whether these are worth a second thread.
  bool isWorthThreads(size_t rows) const { return work(rows) > kThreadProducts; }
  // The value of a real 0 in the input; the same for all bytes of an element.
  std::byte zero() const { return zero_; }
  // The bits to flip in the input's bytes beforehand. Rows and zero() are in this flipped form.
  std::byte inputFlip() const { return inputFlip_; }
  size_t elementBytes() const { return elementBytes_; }

  // Float products that are worth a range of items, and a second thread. Models of few products use
  // one thread, independent of their layers (model_work.h).
  static constexpr size_t kRangeProducts = 30'000;
  static constexpr size_t kThreadProducts = 100'000;
  // Rows of an item of work, for which a panel is worth being fetched.
  static constexpr size_t kLeastRows = 48;
  // Items for the threads to share: with fewer, one that is left over is waited for too long.
  static constexpr size_t kWantedItems = 32;

  // out[rows][columns of the panels] of `left`, whose rows are `stride` bytes apart. `out` is where
  // the first row's first column (of all panels) goes. At most kMostRows, which are an image of
  // 14 x 14, and whole tiles of a matrix unit.
  static constexpr size_t kMostRows = 224;
  virtual void multiply(const std::byte* left, size_t stride, size_t rows, size_t panelBegin,
                        size_t panelEnd, std::byte* out) const = 0;
  // The same for rows in pieces, and with an addend if the layer's site fuses it. Of 8 bits, only
  // layers for copies (quant8_layer.h) take more than one piece.
  virtual void multiplyPieces(const PieceRows& rows, size_t panelBegin, size_t panelEnd,
                              std::byte* out) const = 0;

  // Some layers read rows in another form. multiply() prepares its rows, for its panels alone. So a
  // kernel that takes panels in turn prepares rows itself, `preparedStride` bytes apart. 0: rows
  // are read as they are.
  virtual size_t preparedStride() const { return 0; }
  virtual void prepare(const std::byte* left, size_t stride, size_t rows, std::byte* to) const;
  virtual void multiplyPrepared(const std::byte* left, size_t rows, const std::byte* addend,
                                size_t panelBegin, size_t panelEnd, std::byte* out) const;

 private:
  // The work of multiplying `rows` rows, in float products.
  size_t work(size_t rows) const;

 protected:
  size_t depthBytes_ = 0;
  size_t rowGranularity_ = 1;
  size_t outputRowBytes_ = 0;
  size_t elementBytes_ = 1;
  size_t panels_ = 0;
  std::byte zero_{0};
  std::byte inputFlip_{0};
};

// For the inputs 0 (image), 1 (filter, [columns][depth] however it is shaped) and 2 (bias) of a
// site for which hasConstantWeights. Null where there are no micro kernels for the types, and where
// 8 bit sums might not fit 32 bits.
std::unique_ptr<MatrixLayer> makeMatrixLayer(const KernelSite& site, size_t columns,
                                             ops::FuseCode activation);

// How far apart rows may lie at the least, in bytes.
size_t shortestRowStride(const MatrixLayer& layer);
// The same, but never so that rows come to lie in the same few places of the first-level cache.
size_t rowStride(const MatrixLayer& layer);

// How the rows of a layer come about.
struct RowSource {
  size_t rows = 0;
  // Rows that lie in the input as they are: `stride` bytes apart. Otherwise `gather` writes rows
  // [begin, end) to `to`, `stride` bytes apart.
  bool isDirect = false;
  size_t stride = 0;
  std::function<void(const std::byte* input, size_t begin, size_t end, std::byte* to)> gather;
};

// The memory that a layer reads and writes. `addend` as in PieceRows, for layers that take pieces.
struct LayerMemory {
  const std::byte* input;
  const std::byte* addend;
  std::byte* output;
};

// output = layer(input), spread over the threads of `services`.
void runMatrixLayer(const MatrixLayer& layer, const RowSource& source, const LayerMemory& memory,
                    ops::KernelServices& services);

// A kernel of input 0 and output 0 that is such a layer. `addsInput`, as Fused has it, is for
// layers that take pieces.
std::unique_ptr<Kernel> makeMatrixKernel(std::shared_ptr<const MatrixLayer> layer, RowSource source,
                                         bool addsInput = false);

}  // namespace halyard::cpudriver

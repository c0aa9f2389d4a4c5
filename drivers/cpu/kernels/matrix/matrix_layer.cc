// Packing weights into panels, and the loops over tiles of rows and panels of columns.
#include "kernels/matrix/matrix_layer.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/made_once.h"
#include "kernels/matrix/quant8_layer.h"
#include "kernels/processor_cache.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {
namespace {

// Each of which may have a cache of its own.
size_t processors() {
  const long count = madeOnce([] { return std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L); });
  return static_cast<size_t>(count);
}

constexpr size_t kBlockRows = 12;           // about what micro kernels multiply at once
constexpr size_t kGatherBytes = 16 * 1024;  // that are worth a range
constexpr size_t kMostGathered = 1024 * 1024;
constexpr size_t kQuant8Factor = 4;  // as many products of 8 bits in the same time
// Rows in whose time the weights are read from the second-level cache: fewer take as long.
constexpr size_t kReadRows = 5;

class FloatLayer final : public MatrixLayer {
 public:
  FloatLayer(const KernelSite& site, size_t columns, ops::FuseCode activation)
      : matrix_(PackedFloats::ofInputs(site, {1}, columns, site.inputs[1].elementCount() / columns,
                                       site.inputs[2].as<float>(),
                                       site.outputs[0].elementCount() / columns,
                                       /*mayBeBytes=*/site.outputs[0].elementCount() == columns)),
        range_(ops::activationRange(activation)) {
    const size_t depth = matrix_.depth();
    depthBytes_ = depth * sizeof(float);
    rowGranularity_ = sizeof(float);
    outputRowBytes_ = columns * sizeof(float);
    elementBytes_ = sizeof(float);
    panels_ = matrix_.panels();
  }

  void multiply(const std::byte* left, size_t stride, size_t rows, size_t panelBegin,
                size_t panelEnd, std::byte* out) const override {
    const ptrdiff_t whole = 0;
    multiplyPieces({left, stride, rows, {&whole, 1}, nullptr}, panelBegin, panelEnd, out);
  }
  void multiplyPieces(const PieceRows& rows, size_t panelBegin, size_t panelEnd,
                      std::byte* out) const override {
    matrix_.multiply(rows, range_, panelBegin, panelEnd, reinterpret_cast<float*>(out),
                     matrix_.columns());
  }
  size_t preparedStride() const override {
    return matrix_.relaxed() == nullptr ? 0 : matrix_.relaxed()->rowStride() * sizeof(uint16_t);
  }
  void prepare(const std::byte* left, size_t stride, size_t rows, std::byte* to) const override {
    const ptrdiff_t whole = 0;
    matrix_.relaxed()->prepare({left, stride, rows, {&whole, 1}, nullptr},
                               reinterpret_cast<uint16_t*>(to));
  }
  void multiplyPrepared(const std::byte* left, size_t rows, const std::byte* addend,
                        size_t panelBegin, size_t panelEnd, std::byte* out) const override {
    matrix_.multiplyPrepared(left, rows, addend, range_, panelBegin, panelEnd,
                             reinterpret_cast<float*>(out), matrix_.columns());
  }

 private:
  PackedFloats matrix_;
  const ops::ClampRange<float> range_;
};

// Rows [begin, end) times panels [panelBegin, panelEnd), tile by tile.
void runItem(const MatrixLayer& layer, const RowSource& source, const LayerMemory& memory,
             size_t tileRows, size_t begin, size_t end, size_t panelBegin, size_t panelEnd) {
  std::byte* const buffer = source.isDirect ? nullptr : threadBuffer(tileRows * source.stride);
  forEvenPieces(end - begin, tileRows, [&](size_t offset, size_t rows) {
    const size_t row = begin + offset;
    const std::byte* left = memory.input + row * source.stride;
    if (!source.isDirect) {
      source.gather(memory.input, row, row + rows, buffer);
      left = buffer;
    }
    const size_t at = row * layer.outputRowBytes();
    std::byte* const out = memory.output + at;
    const std::byte* const addend = memory.addend == nullptr ? nullptr : memory.addend + at;
    if (layer.preparedStride() > 0) {
      layer.multiplyPrepared(left, rows, addend, panelBegin, panelEnd, out);
    } else if (addend != nullptr) {
      const ptrdiff_t whole = 0;
      layer.multiplyPieces({left, source.stride, rows, {&whole, 1}, addend}, panelBegin, panelEnd,
                           out);
    } else {
      layer.multiply(left, source.stride, rows, panelBegin, panelEnd, out);
    }
  });
}

}  // namespace

std::unique_ptr<MatrixLayer> makeMatrixLayer(const KernelSite& site, size_t columns,
                                             ops::FuseCode activation) {
  if (site.inputs[0].type == OperandType::TENSOR_FLOAT32) {
    return std::make_unique<FloatLayer>(site, columns, activation);
  }
  return makeQuant8Layer(site, columns, activation);
}

void MatrixLayer::prepare(const std::byte*, size_t, size_t, std::byte*) const {}
void MatrixLayer::multiplyPrepared(const std::byte*, size_t, const std::byte*, size_t, size_t,
                                   std::byte*) const {}

size_t shortestRowStride(const MatrixLayer& layer) {
  return divideUp(layer.depthBytes(), layer.rowGranularity()) * layer.rowGranularity();
}

size_t rowStride(const MatrixLayer& layer) {
  constexpr size_t kCacheLine = 64;
  constexpr size_t kAliasing = 4096;
  const size_t stride = shortestRowStride(layer);
  return stride % kAliasing == 0 ? stride + kCacheLine : stride;
}

size_t MatrixLayer::work(size_t rows) const {
  const size_t products = productsOfRow() * std::max(rows, kReadRows);
  return elementBytes_ == 1 ? products / kQuant8Factor : products;
}

size_t MatrixLayer::grain(size_t items, size_t rows) const {
  return grainOf(items, work(rows) / items, kRangeProducts, kThreadProducts);
}

namespace {

// Ranges are handed on by reference: a std::function of its own would allocate.

// Rows are divided into blocks of which the threads take some. Where these are few, items are
// blocks' panels.
void runBlocks(const MatrixLayer& layer, const RowSource& source, const LayerMemory& memory,
               size_t tileRows, ops::KernelServices& services) {
  // Halves and quarters of the rows should be whole blocks.
  constexpr size_t kMultiple = 4;
  const size_t wanted =
      std::min(std::max(source.rows / MatrixLayer::kWantedItems, MatrixLayer::kLeastRows),
               std::max(tileRows, MatrixLayer::kLeastRows));
  const size_t blocks = divideUp(divideUp(source.rows, wanted), kMultiple) * kMultiple;
  const size_t panels = blocks >= MatrixLayer::kWantedItems ? 1 : layer.panels();
  const size_t items = blocks * panels;
  const auto range = [&](size_t begin, size_t end) {
    forBlocksOfItems(
        begin, end, panels, [&](size_t block, size_t blockEnd, size_t panel, size_t panelEnd) {
          runItem(layer, source, memory, tileRows, source.rows * block / blocks,
                  source.rows * blockEnd / blocks, panel, panels == 1 ? layer.panels() : panelEnd);
        });
  };
  services.parallelFor(items, layer.grain(items, source.rows), std::cref(range));
}

// The threads share the panels, so that each reads only its part of the weights. Rows that must be
// gathered are gathered once.
void runPanels(const MatrixLayer& layer, const RowSource& source, LayerMemory memory,
               size_t tileRows, ops::KernelServices& services) {
  RowSource direct;
  direct.rows = source.rows;
  direct.stride = source.stride;
  direct.isDirect = true;
  if (!source.isDirect) {
    auto* const rows = static_cast<std::byte*>(services.scratch(source.rows * source.stride));
    const size_t grain = grainOf(source.rows, source.stride, kGatherBytes, 2 * kGatherBytes);
    services.parallelFor(source.rows, grain, [&](size_t begin, size_t end) {
      source.gather(memory.input, begin, end, rows + begin * source.stride);
    });
    memory.input = rows;
  }
  // Some of the rows, where there are few panels.
  const size_t parts =
      std::clamp<size_t>(MatrixLayer::kWantedItems / layer.panels(), 1,
                         std::max<size_t>(source.rows / (MatrixLayer::kLeastRows / 2), 1));
  const size_t items = layer.panels() * parts;
  const auto range = [&](size_t begin, size_t end) {
    forBlocksOfItems(begin, end, parts,
                     [&](size_t panel, size_t panelEnd, size_t part, size_t partEnd) {
                       runItem(layer, direct, memory, tileRows, source.rows * part / parts,
                               source.rows * partEnd / parts, panel, panelEnd);
                     });
  };
  services.parallelFor(items, layer.grain(items, source.rows), std::cref(range));
}

// Whether there is more to read of the weights than of the rows. Threads share rows where each gets
// enough rows to be worth the weights. The rows of a thread are then mostly its own in the layers
// before and behind, too. They need not come from another processor's cache.
bool suitsPanels(const MatrixLayer& layer, const RowSource& source) {
  if (layer.panels() == 1) return false;
  if (source.rows < 2 * MatrixLayer::kLeastRows) return true;
  return source.rows < layer.columns() && source.rows < processors() * MatrixLayer::kLeastRows &&
         (source.isDirect || source.rows * source.stride <= kMostGathered);
}

size_t tileRowsOf(const RowSource& source) {
  return std::clamp(
      cachedTileBytes() / std::max<size_t>(source.stride, 1) / kBlockRows * kBlockRows, kBlockRows,
      MatrixLayer::kMostRows);
}

}  // namespace

void runMatrixLayer(const MatrixLayer& layer, const RowSource& source, const LayerMemory& memory,
                    ops::KernelServices& services) {
  const size_t tileRows = tileRowsOf(source);
  if (suitsPanels(layer, source)) {
    runPanels(layer, source, memory, tileRows, services);
  } else {
    runBlocks(layer, source, memory, tileRows, services);
  }
}

namespace {

// Prepares the rows when they are gathered, for layers that want that.
RowSource preparedRows(std::shared_ptr<const MatrixLayer> layer, RowSource source) {
  if (layer->preparedStride() == 0) return source;
  RowSource prepared;
  prepared.rows = source.rows;
  prepared.stride = layer->preparedStride();
  prepared.gather = [layer = std::move(layer), source = std::move(source)](
                        const std::byte* input, size_t begin, size_t end, std::byte* to) {
    constexpr size_t kRowsAtOnce = 16;  // that are in the first-level cache when they are prepared
    forEvenPieces(end - begin, kRowsAtOnce, [&](size_t offset, size_t rows) {
      const size_t row = begin + offset;
      const std::byte* from = input + row * source.stride;
      if (!source.isDirect) {
        auto& buffer = threadOwned<AlignedBuffer<std::byte>, struct RowsToPrepare>();
        if (buffer.size() < rows * source.stride) {
          buffer = AlignedBuffer<std::byte>(rows * source.stride);
        }
        source.gather(input, row, row + rows, buffer.data());
        from = buffer.data();
      }
      layer->prepare(from, source.stride, rows, to + offset * layer->preparedStride());
    });
  };
  return prepared;
}

class MatrixKernel final : public Kernel {
 public:
  MatrixKernel(std::shared_ptr<const MatrixLayer> layer, RowSource source, bool addsInput)
      : layer_(std::move(layer)),
        source_(preparedRows(layer_, std::move(source))),
        addsInput_(addsInput),
        isSmall_(source_.rows <= kBlockRows && !layer_->isWorthThreads(source_.rows)) {}

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const addend = addsInput_ ? operands.lastInput<std::byte>() : nullptr;
    const LayerMemory memory = {operands.input<std::byte>(0), addend,
                                operands.output<std::byte>(0)};
    if (isSmall_) {
      runItem(*layer_, source_, memory, source_.rows, 0, source_.rows, 0, layer_->panels());
    } else {
      runMatrixLayer(*layer_, source_, memory, services);
    }
    return okStatus();
  }

 private:
  const std::shared_ptr<const MatrixLayer> layer_;
  const RowSource source_;
  const bool addsInput_;
  const bool isSmall_;  // too small to be divided
};

}  // namespace

std::unique_ptr<Kernel> makeMatrixKernel(std::shared_ptr<const MatrixLayer> layer, RowSource source,
                                         bool addsInput) {
  return std::make_unique<MatrixKernel>(std::move(layer), std::move(source), addsInput);
}

}  // namespace halyard::cpudriver

// Layers of 8 bit values: what their rows need before they are multiplied.
#include "kernels/quant8_layer.h"

#include "kernels/aligned_buffer.h"
#include "kernels/quant8_panels.h"

namespace halyard::cpudriver {
namespace {

// For `count` values; of the calling thread, until the next call.
int16_t* wideBuffer(size_t count) {
  thread_local AlignedBuffer<int16_t> buffer;
  if (buffer.size() < count) buffer = AlignedBuffer<int16_t>(count);
  return buffer.data();
}

bool isWholeUnits(size_t depth, size_t pieces) { return depth % (4 * pieces) == 0; }

class Quant8Layer final : public MatrixLayer {
 public:
  Quant8Layer(const KernelSite& site, const Quant8Gemm& gemm, const Quant8Weights& weights,
              size_t columns)
      : gemm_(gemm),
        panelsOfWeights_(site, gemm, weights, columns),
        isSigned_(weights.isSignedInput),
        rowFactor_(-weights.zeroPoint) {
    depthBytes_ = panelsOfWeights_.depth();
    rowGranularity_ = isWide() ? 1 : 4;
    outputRowBytes_ = columns;
    panels_ = panelsOfWeights_.count();
    zero_ = static_cast<std::byte>(weights.inputZeroPoint);
    inputFlip_ = std::byte{weights.inputFlip};
  }

  bool takesPieces(size_t pieces) const override {
    return !isWide() && rowFactor_ == 0 && isWholeUnits(depthBytes_, pieces);
  }
  void multiplyPieces(const PieceRows& rows, size_t panelBegin, size_t panelEnd,
                      std::byte* out) const override {
    panelsOfWeights_.multiply({reinterpret_cast<const uint8_t*>(rows.first), rows.stride,
                               rows.count, isSigned_, nullptr, rows.pieces},
                              panelBegin, panelEnd, reinterpret_cast<uint8_t*>(out));
  }

  void multiply(const std::byte* left, size_t stride, size_t rows, size_t panelBegin,
                size_t panelEnd, std::byte* out) const override {
    const auto* bytes = reinterpret_cast<const uint8_t*>(left);
    int32_t terms[kMostRows];
    if (isWide()) {
      bytes = widen(bytes, &stride, rows);
    } else if (rowFactor_ != 0) {
      gemm_.sumRows(bytes, stride, depthBytes_, rows, isSigned_, rowFactor_, terms);
    }
    panelsOfWeights_.multiply({bytes, stride, rows, isSigned_, rowFactor_ != 0 ? terms : nullptr},
                              panelBegin, panelEnd, reinterpret_cast<uint8_t*>(out));
  }

 private:
  bool isWide() const { return gemm_.factors == Quant8Factors::WIDE; }

  // The rows with 16 bits for each value, and how far apart they are then, in bytes.
  const uint8_t* widen(const uint8_t* left, size_t* stride, size_t rows) const {
    constexpr size_t kAliasing = 1024;  // see rowStride
    size_t values = panelsOfWeights_.rowBytes() / sizeof(int16_t);
    if (values % kAliasing == 0) values += 32;
    int16_t* const wide = wideBuffer(rows * values);
    gemm_.widenRows(left, *stride, depthBytes_, rows, isSigned_, wide, values);
    *stride = values * sizeof(int16_t);
    return reinterpret_cast<const uint8_t*>(wide);
  }

  const Quant8Gemm& gemm_;
  const Quant8Panels panelsOfWeights_;
  const bool isSigned_;
  const int32_t rowFactor_;
};

}  // namespace

std::unique_ptr<MatrixLayer> makeQuant8Layer(const KernelSite& site, size_t columns,
                                             ops::FuseCode activation) {
  const Quant8Gemm* const gemm = quant8Gemm(site.level);
  if (gemm == nullptr) return nullptr;
  const auto weights = readQuant8Weights(site, columns, site.inputs[1].elementCount() / columns,
                                         activation, {gemm->factors, Quant8Image::AS_IS});
  if (!weights) return nullptr;
  return std::make_unique<Quant8Layer>(site, *gemm, *weights, columns);
}

std::unique_ptr<MatrixLayer> makeQuant8LayerForCopies(const KernelSite& site, size_t columns,
                                                      ops::FuseCode activation, size_t pieces) {
  const Quant8Gemm* const gemm = quant8Gemm(site.level);
  if (gemm == nullptr || gemm->factors == Quant8Factors::WIDE) return nullptr;
  const size_t depth = site.inputs[1].elementCount() / columns;
  if (!isWholeUnits(depth, pieces)) return nullptr;
  // Signed weights have no zero point most often, and want unsigned rows.
  const Quant8Image image =
      gemm->factors == Quant8Factors::OPPOSITE ? Quant8Image::UNSIGNED : Quant8Image::SIGNED;
  const auto weights = readQuant8Weights(site, columns, depth, activation, {gemm->factors, image});
  if (!weights || weights->zeroPoint != 0) return nullptr;
  return std::make_unique<Quant8Layer>(site, *gemm, *weights, columns);
}

}  // namespace halyard::cpudriver

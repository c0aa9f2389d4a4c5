// Layers of 8 bit values: what their rows need before they are multiplied.
#include "kernels/matrix/quant8_layer.h"

#include <algorithm>
#include <optional>

#include "kernels/matrix/quant8_panels.h"
#include "kernels/vectors/even_pieces.h"
#include "kernels/vectors/quant8_sum.h"

namespace halyard::cpudriver {
namespace {

class Quant8Layer final : public MatrixLayer {
 public:
  // `sum` is of the own result and an addend, where there is one.
  Quant8Layer(const KernelSite& site, const Quant8Gemm& gemm, const Quant8Weights& weights,
              size_t columns, const std::optional<Quant8Sum>& sum)
      : gemm_(gemm),
        level_(site.level),
        sum_(sum),
        isSignedOutput_(site.outputs[0].type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED),
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

  void multiplyPieces(const PieceRows& rows, size_t panelBegin, size_t panelEnd,
                      std::byte* out) const override {
    auto* const results = reinterpret_cast<uint8_t*>(out);
    if (rows.pieces.size() == 1) {
      multiply(rows.first, rows.stride, rows.count, panelBegin, panelEnd, out);
    } else {
      panelsOfWeights_.multiply({reinterpret_cast<const uint8_t*>(rows.first), rows.stride,
                                 rows.count, isSigned_, nullptr, rows.pieces},
                                panelBegin, panelEnd, results);
    }
    if (rows.addend == nullptr) return;
    const size_t begin = panelBegin * gemm_.panelColumns;
    const size_t count = std::min(panelEnd * gemm_.panelColumns, columns()) - begin;
    // Rows of all columns are one.
    const bool areWhole = count == columns();
    addQuant8(*sum_,
              {results + begin, reinterpret_cast<const uint8_t*>(rows.addend) + begin,
               results + begin, columns(), areWhole ? 1 : rows.count,
               areWhole ? rows.count * count : count, isSignedOutput_},
              level_);
  }

  void multiply(const std::byte* left, size_t stride, size_t rows, size_t panelBegin,
                size_t panelEnd, std::byte* out) const override {
    const auto* bytes = reinterpret_cast<const uint8_t*>(left);
    int32_t terms[kMostRows];
    if (rowFactor_ != 0) {
      gemm_.sumRows(bytes, stride, depthBytes_, rows, isSigned_, rowFactor_, terms);
    }
    if (isWide()) {
      const WideRows wide = widenRows(gemm_, bytes, stride, depthBytes_, rows, isSigned_);
      bytes = wide.first;
      stride = wide.stride;
    }
    panelsOfWeights_.multiply({bytes, stride, rows, isSigned_, rowFactor_ != 0 ? terms : nullptr},
                              panelBegin, panelEnd, reinterpret_cast<uint8_t*>(out));
  }

 private:
  bool isWide() const { return gemm_.factors == Quant8Factors::WIDE; }

  const Quant8Gemm& gemm_;
  const ops::SimdLevel level_;
  const std::optional<Quant8Sum> sum_;
  const bool isSignedOutput_;
  const Quant8Panels panelsOfWeights_;
  const bool isSigned_;
  const int32_t rowFactor_;
};

}  // namespace

namespace {

// Null where the weights keep a zero point, unless they may, and where the result cannot be added.
std::unique_ptr<MatrixLayer> makeLayer(const KernelSite& site, const Quant8Gemm& gemm,
                                       size_t columns, ops::FuseCode activation, Quant8Image image,
                                       bool mayHaveZeroPoint) {
  KernelSite own = site;
  ops::Tensor result = site.outputs[0];
  std::optional<Quant8Sum> sum;
  if (const auto& terms = site.fused.terms) {
    result.scale = terms->result.scale;
    result.zeroPoint = terms->result.zeroPoint;
    own.outputs = {&result, 1};
    sum = quant8SumOf(terms->result, terms->addend, site.outputs[0],
                      site.fused.activation.value_or(ops::FuseCode::NONE), 1);
    if (!sum) return nullptr;
  }
  // Where factors are WIDE, panels hold signed bytes for rows of either kind.
  const Quant8Factors factors =
      gemm.factors == Quant8Factors::WIDE ? Quant8Factors::SIGNED_RIGHT : gemm.factors;
  const auto weights = readQuant8Weights(own, columns, site.inputs[1].elementCount() / columns,
                                         activation, {factors, image});
  if (!weights || (!mayHaveZeroPoint && weights->zeroPoint != 0)) return nullptr;
  return std::make_unique<Quant8Layer>(site, gemm, *weights, columns, sum);
}

}  // namespace

std::unique_ptr<MatrixLayer> makeQuant8Layer(const KernelSite& site, size_t columns,
                                             ops::FuseCode activation) {
  const size_t depth = site.inputs[1].elementCount() / columns;
  const Quant8Gemm* const gemm =
      quant8Gemm(site.level, {site.outputs[0].elementCount() / columns, divideUp(depth, 4)});
  if (gemm == nullptr) return nullptr;
  return makeLayer(site, *gemm, columns, activation, Quant8Image::AS_IS, true);
}

std::unique_ptr<MatrixLayer> makeQuant8LayerForCopies(const KernelSite& site, size_t columns,
                                                      ops::FuseCode activation, size_t pieces) {
  const size_t depth = site.inputs[1].elementCount() / columns;
  if (depth % (4 * pieces) != 0) return nullptr;
  const size_t rows = site.outputs[0].elementCount() / columns;
  const Quant8Gemm* const gemm = quant8Gemm(site.level, {rows, depth / pieces / 4, pieces});
  if (gemm == nullptr || gemm->factors == Quant8Factors::WIDE) return nullptr;
  // Signed weights have no zero point most often, and want unsigned rows.
  const Quant8Image image =
      gemm->factors == Quant8Factors::SAME ? Quant8Image::SIGNED : Quant8Image::UNSIGNED;
  return makeLayer(site, *gemm, columns, activation, image, false);
}

}  // namespace halyard::cpudriver

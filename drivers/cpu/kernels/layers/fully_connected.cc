// Full connections: the batch's rows times the weights.
#include "kernels/layers/conv_site.h"
#include "kernels/layers/rounded_layer.h"
#include "kernels/makers.h"
#include "kernels/matrix/matmul.h"
#include "kernels/matrix/matrix_layer.h"
#include "ops/small_copy.h"

namespace halyard::cpudriver {
namespace {

RowSource rowsOf(size_t rows, const MatrixLayer& layer) {
  const size_t depth = layer.depthBytes();
  const size_t stride = rows > 1 ? rowStride(layer) : shortestRowStride(layer);
  RowSource source;
  source.rows = rows;
  source.stride = stride;
  source.isDirect = stride == depth;
  source.gather = [depth, stride](const std::byte* input, size_t begin, size_t end, std::byte* to) {
    for (size_t row = begin; row < end; ++row, to += stride) {
      ops::copySmall(to, input + row * depth, depth);
    }
  };
  return source;
}

// With weights that are known only when the model runs.
std::unique_ptr<Kernel> makeDynamicConnection(const KernelSite& site, ops::FuseCode activation) {
  if (!site.isConstant(2) || site.fused.addsInput) return nullptr;
  MatmulSizes sizes;
  sizes.rows = site.outputs[0].dims[0];
  sizes.columns = site.outputs[0].dims[1];
  sizes.depth = site.inputs[1].dims[1];
  sizes.isRightTransposed = true;
  return makeMatmul(site, sizes, 2, activation);
}

}  // namespace

std::unique_ptr<Kernel> makeFullyConnected(const KernelSite& site) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  ops::FuseCode activation = ops::FuseCode::NONE;
  if (!ops::readFuseCode(context, 3, &activation).ok() || !site.fuseActivation(&activation)) {
    return nullptr;
  }
  if (site.fused.rounding) return makeRoundedConnection(site, activation);
  if (!site.isConstant(1)) return makeDynamicConnection(site, activation);
  if (!hasConstantWeights(site) || !takesAddend(site)) return nullptr;
  const size_t columns = site.outputs[0].dims[1];
  auto layer = makeMatrixLayer(site, columns, activation);
  if (layer == nullptr) return nullptr;
  RowSource rows = rowsOf(site.outputs[0].dims[0], *layer);
  return makeMatrixKernel(std::move(layer), std::move(rows), site.fused.addsInput);
}

}  // namespace halyard::cpudriver

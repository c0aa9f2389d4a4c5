// Full connections: the batch's rows times the weights.
#include "kernels/conv_site.h"
#include "kernels/makers.h"
#include "kernels/matrix_layer.h"
#include "kernels/small_copy.h"

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
      copySmall(to, input + row * depth, depth);
    }
  };
  return source;
}

}  // namespace

std::unique_ptr<Kernel> makeFullyConnected(const KernelSite& site) {
  if (!hasConstantWeights(site) || !site.isConstant(3) || !takesAddend(site)) return nullptr;
  const ops::OperationContext context(site.inputs, {}, nullptr);
  ops::FuseCode activation = ops::FuseCode::NONE;
  if (!ops::readFuseCode(context, 3, &activation).ok() || !site.fuseActivation(&activation)) {
    return nullptr;
  }
  const size_t columns = site.outputs[0].dims[1];
  auto layer = makeMatrixLayer(site, columns, activation);
  if (layer == nullptr) return nullptr;
  RowSource rows = rowsOf(site.outputs[0].dims[0], *layer);
  return makeMatrixKernel(std::move(layer), std::move(rows), site.fused.addsInput);
}

}  // namespace halyard::cpudriver

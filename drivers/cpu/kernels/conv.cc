// Convolution: the patches under the filter as rows of a matrix product.
#include "kernels/conv_lines.h"
#include "kernels/conv_site.h"
#include "kernels/makers.h"
#include "kernels/matrix_layer.h"
#include "kernels/patch_gatherer.h"

namespace halyard::cpudriver {
namespace {

bool isPointwise(const ConvSite& conv) {
  const auto isTrivial = [](const ops::WindowAxis& axis) {
    return axis.filter == 1 && axis.stride == 1 && axis.padBefore == 0 && axis.output == axis.input;
  };
  return isTrivial(conv.window.height) && isTrivial(conv.window.width);
}

RowSource patchesOf(const ConvSite& conv, size_t elementBytes, const MatrixLayer& layer) {
  RowSource source;
  source.rows = conv.output.batch * conv.output.height * conv.output.width;
  source.stride = rowStride(layer);
  source.isDirect = isPointwise(conv) && source.stride == layer.depthBytes();
  if (source.isDirect) return source;
  const auto gatherer =
      std::make_shared<const PatchGatherer>(conv, elementBytes, layer.zero(), source.stride);
  source.gather = [gatherer](const std::byte* input, size_t begin, size_t end, std::byte* to) {
    gatherer->gather(input, begin, end, to);
  };
  return source;
}

}  // namespace

std::unique_ptr<Kernel> makeConv(const KernelSite& site) {
  if (!hasConstantWeights(site) || !takesAddend(site)) return nullptr;
  const auto conv = readConvSite(site, /*isDepthwise=*/false);
  if (!conv) return nullptr;
  auto layer = makeMatrixLayer(site, conv->output.channels, conv->activation);
  if (layer == nullptr) return nullptr;
  if (suitsLines(*conv, *layer)) {
    return makeLineConv(*conv, std::move(layer), site.fused.addsInput);
  }
  RowSource patches = patchesOf(*conv, elementSize(site.inputs[0].type), *layer);
  return makeMatrixKernel(std::move(layer), std::move(patches), site.fused.addsInput);
}

}  // namespace halyard::cpudriver

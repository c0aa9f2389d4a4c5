// Convolution: the patches under the filter as rows of a matrix product.
#include "kernels/conv_lines.h"
#include "kernels/conv_site.h"
#include "kernels/makers.h"
#include "kernels/matrix_layer.h"
#include "kernels/patch_rows.h"

namespace halyard::cpudriver {

std::unique_ptr<Kernel> makeConv(const KernelSite& site) {
  if (!hasConstantWeights(site) || !takesAddend(site)) return nullptr;
  const auto conv = readConvSite(site, /*isDepthwise=*/false);
  if (!conv) return nullptr;
  auto layer = makeMatrixLayer(site, conv->output.channels, conv->activation);
  if (layer == nullptr) return nullptr;
  if (suitsLines(*conv, *layer)) {
    return makeLineConv(*conv, std::move(layer), site.fused.addsInput);
  }
  RowSource patches = patchRows(*conv, elementSize(site.inputs[0].type), *layer);
  return makeMatrixKernel(std::move(layer), std::move(patches), site.fused.addsInput);
}

}  // namespace halyard::cpudriver

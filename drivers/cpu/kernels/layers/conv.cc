// Convolution: the patches under the filter as rows of a matrix product.
#include <vector>

#include "kernels/layers/conv_chain.h"
#include "kernels/layers/conv_lines.h"
#include "kernels/layers/conv_site.h"
#include "kernels/layers/dynamic_conv.h"
#include "kernels/layers/patch_rows.h"
#include "kernels/layers/rounded_layer.h"
#include "kernels/layers/winograd_conv.h"
#include "kernels/makers.h"
#include "kernels/matrix/matrix_layer.h"

namespace halyard::cpudriver {

std::unique_ptr<Kernel> makeConv(const KernelSite& site) {
  if (!site.fused.between.empty()) return makeConvChain(site);
  const auto conv = readConvSite(site, /*isDepthwise=*/false);
  if (!conv) return nullptr;
  if (!site.isConstant(1)) return makeDynamicConv(site, *conv);
  if (!hasConstantWeights(site) || !takesAddend(site)) return nullptr;
  if (site.fused.rounding) return makeRoundedConv(site, *conv);
  const size_t elementBytes = elementSize(site.inputs[0].type);
  const bool prefersLines = suitsLines(*conv, elementBytes);
  if (prefersLines && elementBytes == 1) {
    if (auto kernel = makeQuant8LineConv(site, *conv); kernel != nullptr) return kernel;
  }
  if (takesWinograd(*conv, site) && suitsWinograd(*conv)) return makeWinogradConv(site, *conv);
  const std::shared_ptr<const MatrixLayer> layer =
      makeMatrixLayer(site, conv->output.channels, conv->activation);
  if (layer == nullptr) return nullptr;
  // Lines of bytes are faster only where they are flipped and copied. Rows that must be prepared
  // are gathered with that.
  if (prefersLines && elementBytes > 1 && layer->preparedStride() == 0)
    return makeLineConv(*conv, layer, site.fused.addsInput);
  RowSource patches = patchRows(*conv, elementBytes, *layer);
  return makeMatrixKernel(layer, std::move(patches), site.fused.addsInput);
}

}  // namespace halyard::cpudriver

// Convolution: the patches under the filter as rows of a matrix product.
#include <vector>

#include "kernels/layers/conv_lines.h"
#include "kernels/layers/conv_site.h"
#include "kernels/layers/dynamic_conv.h"
#include "kernels/makers.h"
#include "kernels/matrix/matrix_layer.h"
#include "kernels/layers/patch_rows.h"
#include "kernels/layers/rounded_layer.h"
#include "kernels/layers/several_ways.h"
#include "kernels/layers/winograd_conv.h"

namespace halyard::cpudriver {

std::unique_ptr<Kernel> makeConv(const KernelSite& site) {
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
  const bool prefersTiles = takesWinograd(*conv, site) && suitsWinograd(*conv);
  if (prefersTiles && !site.tunable) return makeWinogradConv(site, *conv);
  const std::shared_ptr<const MatrixLayer> layer =
      makeMatrixLayer(site, conv->output.channels, conv->activation);
  if (layer == nullptr) return nullptr;
  const auto withLines = [&] { return makeLineConv(*conv, layer, site.fused.addsInput); };
  const auto withPatches = [&] {
    RowSource patches = patchRows(*conv, elementBytes, *layer);
    return makeMatrixKernel(layer, std::move(patches), site.fused.addsInput, site.tunable);
  };
  // Of 8 bits only what is flipped and copied is faster.
  if (elementBytes == 1) return withPatches();
  if (!site.tunable || !takesLines(*conv, elementBytes)) {
    return prefersLines ? withLines() : withPatches();
  }
  std::vector<SeveralWays::Alternative> alternatives;
  alternatives.push_back({"lines", withLines()});
  alternatives.push_back({"patches", withPatches()});
  if (!prefersLines) std::swap(alternatives[0], alternatives[1]);
  if (prefersTiles) {
    alternatives.insert(alternatives.begin(), {"tiles", makeWinogradConv(site, *conv)});
  }
  return std::make_unique<SeveralWays>(std::move(alternatives));
}

}  // namespace halyard::cpudriver

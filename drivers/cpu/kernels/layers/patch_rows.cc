// Rows that are gathered, or lie in the image as they are.
#include "kernels/layers/patch_rows.h"

#include <memory>

#include "kernels/layers/patch_gatherer.h"

namespace halyard::cpudriver {
bool isPointwise(const ConvSite& conv) {
  const auto isTrivial = [](const ops::WindowAxis& axis) {
    return axis.filter == 1 && axis.stride == 1 && axis.padBefore == 0 && axis.output == axis.input;
  };
  return isTrivial(conv.window.height) && isTrivial(conv.window.width);
}

RowSource patchRows(const ConvSite& conv, size_t elementBytes, const MatrixLayer& layer) {
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

}  // namespace halyard::cpudriver

// Reading a convolution's operands, in the two forms that each of them has.
#include "kernels/layers/conv_site.h"

namespace halyard::cpudriver {
namespace {

using ops::OperationContext;

Status read(const OperationContext& context, bool isDepthwise,
            const std::array<int64_t, 4>& padding, ConvSite* conv, bool* nchw) {
  ops::WindowOptions options;
  size_t next = 3;
  const bool isExplicit = ops::hasExplicitPadding(context, isDepthwise ? 8 : 7);
  HALYARD_RETURN_IF_ERROR(ops::readPaddingAndStrides(context, isExplicit, &next, &options));
  if (isDepthwise) {
    int32_t multiplier = 0;
    HALYARD_RETURN_IF_ERROR(context.read(next++, &multiplier));
    conv->multiplier = static_cast<size_t>(multiplier);
  }
  HALYARD_RETURN_IF_ERROR(ops::readFuseCode(context, next++, &conv->activation));
  HALYARD_RETURN_IF_ERROR(
      ops::readLayoutAndDilations(context, next, /*dilated=*/true, nchw, &options));
  ops::ImageDims filter;
  HALYARD_RETURN_IF_ERROR(ops::readImageDims("input", context.input(0).dims, *nchw, &conv->input));
  const auto& [top, bottom, left, right] = padding;
  ops::ImageDims padded = conv->input;
  padded.height += static_cast<size_t>(top + bottom);
  padded.width += static_cast<size_t>(left + right);
  HALYARD_RETURN_IF_ERROR(ops::readImageDims("filter", context.input(1).dims, false, &filter));
  HALYARD_RETURN_IF_ERROR(ops::resolveWindow(options, padded, static_cast<int64_t>(filter.height),
                                             static_cast<int64_t>(filter.width), &conv->window));
  // The border is padding like the window's own.
  conv->window.height.input = static_cast<int64_t>(conv->input.height);
  conv->window.height.padBefore += top;
  conv->window.width.input = static_cast<int64_t>(conv->input.width);
  conv->window.width.padBefore += left;
  conv->output = {conv->input.batch, static_cast<size_t>(conv->window.height.output),
                  static_cast<size_t>(conv->window.width.output),
                  isDepthwise ? filter.channels : filter.batch};
  return okStatus();
}

}  // namespace

std::optional<ConvSite> readConvSite(const KernelSite& site, bool isDepthwise) {
  const OperationContext context(site.inputs, {}, nullptr);
  ConvSite conv;
  bool nchw = false;
  if (!read(context, isDepthwise, site.fused.padding, &conv, &nchw).ok() || nchw) {
    return std::nullopt;
  }
  if (!site.fuseActivation(&conv.activation)) return std::nullopt;
  return conv;
}

bool hasConstantWeights(const KernelSite& site) {
  if (!site.isConstant(1) || !site.isConstant(2)) return false;
  const OperandType input = site.inputs[0].type;
  const OperandType filter = site.inputs[1].type;
  const OperandType bias = site.inputs[2].type;
  if (site.outputs[0].type != input) return false;
  if (input == OperandType::TENSOR_FLOAT32) return filter == input && bias == input;
  return isQuant8Asymm(input) && bias == OperandType::TENSOR_INT32 &&
         (filter == input || filter == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL);
}

}  // namespace halyard::cpudriver

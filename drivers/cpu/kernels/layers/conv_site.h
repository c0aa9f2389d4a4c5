// The properties of a convolution's site, read once: sizes, window, activation.
// Thread safety: values.
// Ownership: values.
#pragma once

#include <optional>

#include "kernels/kernel.h"
#include "ops/activation.h"
#include "ops/conv_geometry.h"

namespace halyard::cpudriver {

struct ConvSite {
  ops::ImageDims input;
  ops::ImageDims output;
  ops::Window window;
  size_t multiplier = 1;  // of a depthwise convolution
  ops::FuseCode activation = ops::FuseCode::NONE;
};

// Operands in the order of NNAPI's plain and depthwise convolution. None for images with channels
// first, and where the scalars are not all constants.
std::optional<ConvSite> readConvSite(const KernelSite& site, bool isDepthwise);

// Whether filter and bias are constants, and all tensors have types with kernels for layers. These
// are float32 throughout, or 8 bit types with a bias of int32.
bool hasConstantWeights(const KernelSite& site);

// Whether a layer can add what the site fuses with it, if it does.
inline bool takesAddend(const KernelSite& site) {
  return !site.fused.addsInput || site.fused.terms ||
         site.outputs[0].type == OperandType::TENSOR_FLOAT32;
}

}  // namespace halyard::cpudriver

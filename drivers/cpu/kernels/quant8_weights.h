// 8 bit weights as kernels want them: of the opposite signedness of the input's, and what zero
// points and scales add to that. Thread safety: pure functions. Ownership: results own their
// memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernel.h"
#include "kernels/gemm_quant8.h"
#include "ops/activation.h"

namespace halyard::cpudriver {

struct Quant8Weights {
  bool isSignedInput = false;  // as the kernel sees it
  uint8_t inputFlip = 0;       // what the kernel has to flip in the input's bytes for that
  int32_t inputZeroPoint = 0;  // after flipping
  // As stored: signed bytes for an unsigned input, unsigned ones for a signed input. In the
  // filter's order; empty unless site.packs().
  std::vector<uint8_t> values;
  int32_t zeroPoint = 0;          // of `values`
  std::vector<float> multiplier;  // by output channel
  std::vector<int32_t> bias;      // likewise
  Quant8Result result;

  int32_t value(size_t i) const {
    return isSignedInput ? int32_t{values[i]} : int32_t{static_cast<int8_t>(values[i])};
  }
};

// Of a site for which hasConstantWeights; `products` are added up for each output value. With
// `flipsSigned` a signed input is for the kernel to make unsigned. None when the sums, or the units
// of the output that they come to, might not fit 32 bits.
std::optional<Quant8Weights> readQuant8Weights(const KernelSite& site, size_t channels,
                                               size_t products, ops::FuseCode activation,
                                               bool flipsSigned);

}  // namespace halyard::cpudriver

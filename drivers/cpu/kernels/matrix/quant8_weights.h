// 8 bit weights as a processor's instruction wants them beside the image, and what zero points and
// scales add to that.
// Thread safety: pure functions.
// Ownership: results borrow the filter.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/matrix/gemm_quant8.h"
#include "ops/activation.h"

namespace halyard::cpudriver {

// How a kernel wants the image's bytes.
enum class Quant8Image { AS_IS, UNSIGNED, SIGNED };

struct Quant8Form {
  Quant8Factors factors;
  Quant8Image image;
};

struct Quant8Weights {
  bool isSignedInput = false;  // as the kernel sees it
  uint8_t inputFlip = 0;       // bits that the kernel flips in the input's bytes
  int32_t inputZeroPoint = 0;  // after flipping
  // The filter's bytes, in its order. With `shift` they are values that fit
  // what the form's factors have beside the input: signed or unsigned bytes, or 16 bits.
  const uint8_t* stored = nullptr;
  bool isSignedStored = false;
  int32_t shift = 0;
  int32_t zeroPoint = 0;          // of values; none where factors are WIDE
  std::vector<float> multiplier;  // by output channel
  std::vector<int32_t> bias;      // by output channel
  Quant8Result result;

  int32_t value(size_t i) const {
    return (isSignedStored ? int32_t{static_cast<int8_t>(stored[i])} : int32_t{stored[i]}) + shift;
  }
  // The sum of `count` values from the first-th on, less their zero points; modulo 2^32.
  uint32_t sum(size_t first, size_t count) const;
};

// Of a site for which hasConstantWeights; `products` are added up for each output value. None when
// the sums, or the units of the output that they come to, might not fit 32 bits.
std::optional<Quant8Weights> readQuant8Weights(const KernelSite& site, size_t channels,
                                               size_t products, ops::FuseCode activation,
                                               const Quant8Form& form);

}  // namespace halyard::cpudriver

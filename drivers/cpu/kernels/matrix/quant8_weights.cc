// The zero points of 8 bit weights.
#include "kernels/matrix/quant8_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/multiply_accumulate.h"

namespace halyard::cpudriver {
namespace {

// Whether all values less the zero point fit a signed byte. They can then be stored so, and have no
// zero point any more.
bool fitsWithoutZeroPoint(const uint8_t* stored, bool isUnsigned, size_t count, int32_t zeroPoint) {
  // In the order of unsigned bytes, which every processor has the least and the largest of.
  const uint8_t flip = isUnsigned ? 0 : 0x80;
  if (zeroPoint + flip == 128) return true;  // for all weights
  uint8_t least = 255;
  uint8_t largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<uint8_t>(stored[i] ^ flip);
    least = std::min(least, value);
    largest = std::max(largest, value);
  }
  const int32_t zero = zeroPoint + flip;
  return least - zero >= -128 && largest - zero <= 127;
}

// The amount that is added to a value of the filter, so that it is stored as the form needs it.
int32_t storedShift(const KernelSite& site, Quant8Factors factors, bool isSignedInput) {
  const ops::Tensor& filter = site.inputs[1];
  const bool isUnsigned = filter.type == OperandType::TENSOR_QUANT8_ASYMM;
  const int32_t zeroPoint = ops::filterZeroPoint(filter);
  if (factors == Quant8Factors::WIDE) return -zeroPoint;
  const bool wantsSigned =
      factors == Quant8Factors::SIGNED_RIGHT || isSignedInput == (factors == Quant8Factors::SAME);
  if (!wantsSigned) return isUnsigned ? 0 : 128;
  if (fitsWithoutZeroPoint(filter.as<uint8_t>(), isUnsigned, filter.elementCount(), zeroPoint)) {
    return -zeroPoint;
  }
  return isUnsigned ? -128 : 0;
}

void readValues(const KernelSite& site, Quant8Factors factors, Quant8Weights* weights) {
  const ops::Tensor& filter = site.inputs[1];
  const int32_t shift = storedShift(site, factors, weights->isSignedInput);
  weights->zeroPoint = ops::filterZeroPoint(filter) + shift;
  weights->shift = shift;
  weights->isSignedStored = filter.type != OperandType::TENSOR_QUANT8_ASYMM;
  weights->stored = filter.as<uint8_t>();
}

}  // namespace

uint32_t Quant8Weights::sum(size_t first, size_t count) const {
  constexpr size_t kAtOnce = 256;  // whose sum fits 16 bits, of which more are added at once
  uint32_t bytes = 0;
  const uint8_t flip = isSignedStored ? 0x80 : 0;
  const uint8_t* const from = stored + first;
  for (size_t begin = 0; begin < count; begin += kAtOnce) {
    uint16_t some = 0;
    for (size_t i = begin; i < std::min(begin + kAtOnce, count); ++i) {
      some = static_cast<uint16_t>(some + static_cast<uint8_t>(from[i] ^ flip));
    }
    bytes += some;
  }
  return bytes + static_cast<uint32_t>(count) * static_cast<uint32_t>(shift - zeroPoint - flip);
}

std::optional<Quant8Weights> readQuant8Weights(const KernelSite& site, size_t channels,
                                               size_t products, ops::FuseCode activation,
                                               const Quant8Form& form) {
  const ops::Tensor& input = site.inputs[0];
  const ops::Tensor& filter = site.inputs[1];
  const ops::Tensor& output = site.outputs[0];
  const auto* const bias = site.inputs[2].as<int32_t>();
  Quant8Weights weights;
  int64_t largestBias = 0;
  for (size_t c = 0; c < channels; ++c) {
    const float filterScale =
        filter.channelQuant != nullptr ? filter.channelQuant->scales[c] : filter.scale;
    weights.multiplier.push_back(
        ops::quantizedSumMultiplier(input.scale, filterScale, output.scale));
    weights.bias.push_back(bias[c]);
    largestBias = std::max(largestBias, std::abs(int64_t{bias[c]}));
  }
  // Of the differences to the zero points, each of which has 9 bits.
  constexpr int64_t kLargestProduct = 255 * 255;
  const float largestMultiplier = *std::ranges::max_element(weights.multiplier);
  if (products > std::numeric_limits<int32_t>::max() / kLargestProduct ||
      static_cast<int64_t>(products) * kLargestProduct + largestBias >
          std::numeric_limits<int32_t>::max()) {
    return std::nullopt;
  }
  const auto largestSum =
      static_cast<double>(static_cast<int64_t>(products) * kLargestProduct + largestBias);
  if (largestSum * double{largestMultiplier} >= 0x1p30) return std::nullopt;
  weights.isSignedInput = input.type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
  weights.inputZeroPoint = input.zeroPoint;
  if (form.image != Quant8Image::AS_IS &&
      weights.isSignedInput != (form.image == Quant8Image::SIGNED)) {
    weights.inputZeroPoint += weights.isSignedInput ? 128 : -128;
    weights.isSignedInput = !weights.isSignedInput;
    weights.inputFlip = 0x80;
  }
  readValues(site, form.factors, &weights);
  const ops::ClampRange<int32_t> range = ops::activationRange(activation, output);
  weights.result = {range.min, range.max, output.zeroPoint};
  return weights;
}

}  // namespace halyard::cpudriver

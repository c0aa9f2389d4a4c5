// Scale rules and output stages of convolutions and fully connected layers.
#include "ops/multiply_accumulate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ops/operand_checks.h"

namespace halyard::ops {
namespace {

bool isPerChannel(OperandType type) { return type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL; }

HALYARD_ALWAYS_INLINE void storeFloats(const float* sums, const float* bias, size_t count,
                                       ClampRange<float> range, float* results) {
  for (size_t i = 0; i < count; ++i) results[i] = clampTo(sums[i] + bias[i], range);
}

// clamp(zeroPoint + (sum + bias) * multiplier), rounded to nearest, ties to even, in float. The
// 8-bit kernels of the wider ecosystem compute this on SIMD units, so results agree bit for bit. A
// float's relative error of 2^-24 is at most 2^-15 units in the range of T.
template <typename T>
HALYARD_ALWAYS_INLINE void storeQuantized(const int32_t* sums, const double* bias,
                                          const float* multiplier, size_t count, int32_t zeroPoint,
                                          ClampRange<int32_t> range, T* results) {
  const auto low = static_cast<float>(range.min - zeroPoint);
  const auto high = static_cast<float>(range.max - zeroPoint);
  // Adding 1.5 * 2^23 leaves no bits below the units, so the addition rounds.
  constexpr float kRounder = 0x1.8p23F;
  constexpr auto kRounderBits = std::bit_cast<int32_t>(kRounder);
  for (size_t i = 0; i < count; ++i) {
    // The sum of the two is exact in double and rounded once.
    const auto sum = static_cast<float>(static_cast<double>(sums[i]) + bias[i]);
    const float units = sum * multiplier[i];
    float limited = units > low ? units : low;
    limited = limited < high ? limited : high;
    const int32_t rounded = std::bit_cast<int32_t>(limited + kRounder) - kRounderBits;
    results[i] = static_cast<T>(rounded + zeroPoint);
  }
}

}  // namespace

float quantizedSumMultiplier(float input, float filter, float output) {
  const float product = input * filter;
  const float multiplier = product / output;
  if (std::isnormal(product) && std::isfinite(multiplier)) return multiplier;
  constexpr double kLargest = std::numeric_limits<float>::max();
  const double exact = double{input} * double{filter} / double{output};
  return static_cast<float>(std::min(exact, kLargest));
}

std::vector<TypeRow> multiplyAccumulateRows(bool perChannelFilters, FeatureLevel introduced) {
  using enum OperandType;
  std::vector<TypeRow> rows = {
      {FeatureLevel::FL1, {TENSOR_FLOAT32, TENSOR_FLOAT32, TENSOR_FLOAT32}},
      {FeatureLevel::FL3, {TENSOR_FLOAT16, TENSOR_FLOAT16, TENSOR_FLOAT16}},
      {FeatureLevel::FL1, {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM, TENSOR_INT32}},
      {FeatureLevel::FL4, {TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_INT32}}};
  if (perChannelFilters) {
    for (const auto& [level, type] : {std::pair{FeatureLevel::FL3, TENSOR_QUANT8_ASYMM},
                                      std::pair{FeatureLevel::FL4, TENSOR_QUANT8_ASYMM_SIGNED}}) {
      rows.push_back({level, {type, TENSOR_QUANT8_SYMM_PER_CHANNEL, TENSOR_INT32}});
    }
  }
  for (TypeRow& row : rows) row.since = std::max(row.since, introduced);
  return rows;
}

Status checkFilterQuantization(const OperationView& operation, uint32_t channelDim,
                               FeatureLevel& level) {
  const Operand& input = operation.input(0);
  const Operand& filter = operation.input(1);
  if (isPerChannel(filter.type)) {
    const auto* params = std::get_if<SymmPerChannelQuantParams>(&filter.extraParams);
    if (params == nullptr) return badData("filter has no per-channel quantization parameters");
    if (params->channelDim != channelDim) {
      return badData("filter has its scales along dimension {}, expected dimension {}",
                     params->channelDim, channelDim);
    }
    return okStatus();
  }
  if (isQuant8Asymm(input.type) && operation.output(0).scale <= input.scale * filter.scale) {
    level = std::max(level, FeatureLevel::FL3);
  }
  return okStatus();
}

Status checkFilterAndBias(const Tensor& input, const Tensor& filter, const Tensor& bias,
                          size_t channels) {
  if (bias.rank() != 1 || bias.dims[0] != channels) {
    return opFailed("bias has shape {}, expected [{}], one value for each output channel",
                    realShapeText(bias.dims), channels);
  }
  if (!isQuant8Asymm(input.type)) return okStatus();
  if (bias.zeroPoint != 0) {
    return opFailed("bias has zero point {}, expected 0", bias.zeroPoint);
  }
  if (isPerChannel(filter.type)) {
    if (filter.channelQuant == nullptr || filter.channelQuant->scales.size() != channels) {
      return opFailed("filter has {} scales, expected one for each of {} output channels",
                      filter.channelQuant ? filter.channelQuant->scales.size() : 0, channels);
    }
    return okStatus();  // the bias is in units of input times channel, for any declared scale
  }
  const double expected = static_cast<double>(input.scale) * static_cast<double>(filter.scale);
  if (!(std::abs(static_cast<double>(bias.scale) - expected) <= 1e-6 * expected)) {
    return opFailed("bias has scale {}, expected that of input times filter, {} * {} = {}",
                    bias.scale, input.scale, filter.scale, expected);
  }
  return okStatus();
}

void FloatOutput::store(const float* sums, size_t channel, size_t count, float* results) const {
  runBest<&storeFloats>(sums, bias_ + channel, count, range_, results);
}

template <typename T>
QuantizedOutput<T>::QuantizedOutput(OperationContext& context, const Tensor& input,
                                    const Tensor& filter, const Tensor& bias, const Tensor& output,
                                    FuseCode activation)
    : zeroPoint_(output.zeroPoint), range_(activationRange(activation, output)) {
  const size_t channels = bias.elementCount();
  bias_ = context.scratch<double>(channels);
  multiplier_ = context.scratch<float>(channels);
  for (size_t c = 0; c < channels; ++c) {
    const float filterScale =
        isPerChannel(filter.type) ? filter.channelQuant->scales[c] : filter.scale;
    bias_[c] = bias.as<int32_t>()[c];
    multiplier_[c] = quantizedSumMultiplier(input.scale, filterScale, output.scale);
  }
}

template <typename T>
void QuantizedOutput<T>::store(const int32_t* sums, size_t channel, size_t count,
                               T* results) const {
  runBest<&storeQuantized<T>>(sums, static_cast<const double*>(bias_ + channel),
                              static_cast<const float*>(multiplier_ + channel), count, zeroPoint_,
                              range_, results);
}

template class QuantizedOutput<uint8_t>;
template class QuantizedOutput<int8_t>;

void centerFilter(const Tensor& filter, size_t begin, size_t count, int16_t* to) {
  const int32_t zero = filterZeroPoint(filter);
  if (filter.type == OperandType::TENSOR_QUANT8_ASYMM) {
    runBest<&subtractZeroPoint<uint8_t>>(filter.as<uint8_t>() + begin, count, zero, to);
  } else {
    runBest<&subtractZeroPoint<int8_t>>(filter.as<int8_t>() + begin, count, zero, to);
  }
}

}  // namespace halyard::ops

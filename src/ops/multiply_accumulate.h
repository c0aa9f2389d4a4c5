// What operations that sum products of an input and a filter share: type rows, the rules for
// scales, and the output stage that turns sums into results.
// Thread safety: pure functions; output stages are immutable and may be used by several threads.
// Ownership: output stages borrow operands and live in a kernel's scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "halyard/driver/status.h"
#include "ops/activation.h"
#include "ops/operation.h"
#include "model/signature.h"
#include "ops/simd.h"

namespace halyard::ops {

// Columns 0 input and output, 1 filter, 2 bias; none earlier than the operation, which came at
// `introduced`.
std::vector<TypeRow> multiplyAccumulateRows(bool perChannelFilters,
                                            FeatureLevel introduced = FeatureLevel::FL1);

// Signature check. Level 3 is needed where the output's scale is not above the product of the
// input's and the filter's. A per-channel filter must have its scales along `channelDim`.
Status checkFilterQuantization(const OperationView& operation, uint32_t channelDim,
                               FeatureLevel& level);

// Inference check: `bias` has `channels` values, in units of input times filter (relative deviation
// at most 1e-6). A per-channel filter needs one scale for each channel; value c of the bias is then
// in units of the input's scale times that of channel c, and its own scale, 0 as documented or what
// a converter wrote there, means nothing.
Status checkFilterAndBias(const Tensor& input, const Tensor& filter, const Tensor& bias,
                          size_t channels);

// Adds the bias and applies the activation.
class FloatOutput {
 public:
  using Sum = float;
  using Value = float;

  FloatOutput(const Tensor& bias, FuseCode activation)
      : bias_(bias.as<float>()), range_(activationRange(activation)) {}
  // results[i] = act(sums[i] + bias[channel + i]).
  void store(const float* sums, size_t channel, size_t count, float* results) const;

 private:
  const float* bias_;
  ClampRange<float> range_;
};

// What a sum of 8-bit products is multiplied with, of the three scales: input * filter / output, in
// float as the 8-bit kernels of the wider ecosystem compute it. Where
// the product of scales overflows or vanishes, the quotient still may not; it stays finite, because
// a sum of 0 times infinity would be no number.
float quantizedSumMultiplier(float input, float filter, float output);

// Adds the bias and goes from units of input times filter to the output's:
// q = clamp(zeroPoint + rha((sum + bias) * inputScale * filterScale / outputScale)).
template <typename T>  // uint8_t or int8_t
class QuantizedOutput {
 public:
  using Sum = int32_t;
  using Value = T;

  QuantizedOutput(OperationContext& context, const Tensor& input, const Tensor& filter,
                  const Tensor& bias, const Tensor& output, FuseCode activation);
  void store(const int32_t* sums, size_t channel, size_t count, T* results) const;

 private:
  double* bias_;       // one for each channel
  float* multiplier_;  // likewise
  int32_t zeroPoint_;
  ClampRange<int32_t> range_;
};

extern template class QuantizedOutput<uint8_t>;
extern template class QuantizedOutput<int8_t>;

// The zero point that a filter's values are relative to; 0 for a per-channel filter.
inline int32_t filterZeroPoint(const Tensor& filter) {
  return filter.type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL ? 0 : filter.zeroPoint;
}

// to[i] = from[i] - zeroPoint. Both fit int16 with room to spare.
template <typename T>  // uint8_t or int8_t
HALYARD_ALWAYS_INLINE void subtractZeroPoint(const T* from, size_t count, int32_t zeroPoint,
                                             int16_t* to) {
  const auto zero = static_cast<int16_t>(zeroPoint);
  for (size_t i = 0; i < count; ++i) {
    to[i] = static_cast<int16_t>(static_cast<int16_t>(from[i]) - zero);
  }
}
// The same for a filter of either signedness.
void centerFilter(const Tensor& filter, size_t begin, size_t count, int16_t* to);

}  // namespace halyard::ops

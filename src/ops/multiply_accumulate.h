// Code shared by operations that sum products of an input and a filter. It has type rows, the rules
// for scales, and the output stage, which turns sums into results.
// Thread safety: pure functions; output stages are immutable, and several threads may use one.
// Ownership: output stages borrow operands and live in a kernel's scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "halyard/driver/status.h"
#include "model/signature.h"
#include "ops/activation.h"
#include "ops/operation.h"
#include "ops/simd.h"

namespace halyard::ops {

// Column 0 is input and output, 1 the filter, 2 the bias. No row is older than the operation, which
// `introduced` gives.
std::vector<TypeRow> multiplyAccumulateRows(bool perChannelFilters,
                                            FeatureLevel introduced = FeatureLevel::FL1);

// The signature check. An output scale up to the product of the input's and the filter's scales
// needs level 3. A per-channel filter must have its scales along `channelDim`.
Status checkFilterQuantization(const OperationView& operation, uint32_t channelDim,
                               FeatureLevel& level);

// The inference check. `bias` has `channels` values, in units of input times filter (relative
// deviation at most 1e-6). A per-channel filter needs one scale for each channel. Value c of the
// bias is then in units of the input's scale times that of channel c. Its own scale is ignored; it
// is 0 as documented, or a converter's value.
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

// Returns the multiplier of a sum of 8-bit products: input * filter / output, computed in float as
// in the 8-bit kernels of the wider ecosystem. If the product of scales overflows or vanishes, the
// quotient may still be valid. It stays finite, because 0 times infinity would be NaN.
float quantizedSumMultiplier(float input, float filter, float output);

// Adds the bias and converts from units of input times filter to the output's: q = clamp(zeroPoint
// + rha((sum + bias) * inputScale * filterScale / outputScale)).
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
  float* multiplier_;  // the same
  int32_t zeroPoint_;
  ClampRange<int32_t> range_;
};

extern template class QuantizedOutput<uint8_t>;
extern template class QuantizedOutput<int8_t>;

// Returns the zero point of a filter's values; 0 for a per-channel filter.
inline int32_t filterZeroPoint(const Tensor& filter) {
  return filter.type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL ? 0 : filter.zeroPoint;
}

// to[i] = from[i] - zeroPoint. The results fit int16 easily.
template <typename T>  // uint8_t or int8_t
HALYARD_ALWAYS_INLINE void subtractZeroPoint(const T* from, size_t count, int32_t zeroPoint,
                                             int16_t* to) {
  const auto zero = static_cast<int16_t>(zeroPoint);
  for (size_t i = 0; i < count; ++i) {
    to[i] = static_cast<int16_t>(static_cast<int16_t>(from[i]) - zero);
  }
}
// The same for a signed or unsigned filter.
void centerFilter(const Tensor& filter, size_t begin, size_t count, int16_t* to);

}  // namespace halyard::ops

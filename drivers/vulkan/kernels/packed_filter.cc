#include "kernels/packed_filter.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/float16.h"
#include "ops/multiply_accumulate.h"

namespace halyard::vulkandriver {
namespace {

bool isByteFilter(OperandType type) {
  return type != OperandType::TENSOR_FLOAT32 && type != OperandType::TENSOR_FLOAT16;
}

template <typename To>
To asStored(float value) {
  if constexpr (std::is_same_v<To, Float16>) {
    return toFloat16(value);
  } else {
    return value;
  }
}
template <typename To>
To asStored(Float16 value) {
  return asStored<To>(toFloat(value));
}
template <typename To>
To asStored(uint8_t value) {
  return value;
}

template <typename From, typename To>
void pack(const From* from, const FilterShape& shape, To nothing, To* to) {
  for (size_t block = 0; block < shape.blocks(); ++block) {
    for (size_t tap = 0; tap < shape.taps; ++tap) {
      for (size_t run = 0; run < shape.runs(); ++run) {
        for (size_t c = 0; c < kPackedChannels; ++c) {
          const size_t channel = block * kPackedChannels + c;
          for (size_t d = run * shape.run; d < (run + 1) * shape.run; ++d) {
            const bool isThere = channel < shape.channels && d < shape.depth;
            *to++ = isThere ? asStored<To>(from[(channel * shape.taps + tap) * shape.depth + d])
                            : nothing;
          }
        }
      }
    }
  }
}

int32_t weightAt(const RawValues& filter, size_t i) {
  if (filter.type == OperandType::TENSOR_QUANT8_ASYMM) return filter.as<uint8_t>()[i];
  return filter.as<int8_t>()[i];
}

}  // namespace

RawValues rawValues(const ops::Tensor& tensor) {
  return {tensor.type, tensor.data, ops::filterZeroPoint(tensor)};
}

size_t packedFilterBytes(OperandType filter, const FilterShape& shape, bool halves) {
  const size_t weights = shape.blocks() * kPackedChannels * shape.taps * shape.fours() * 4;
  if (isByteFilter(filter)) return weights;
  return weights * (halves ? sizeof(Float16) : sizeof(float));
}

namespace {

template <typename To>
void packReals(const RawValues& filter, const FilterShape& shape, To* to) {
  if (filter.type == OperandType::TENSOR_FLOAT32) {
    pack(filter.as<float>(), shape, To{}, to);
  } else {
    pack(filter.as<Float16>(), shape, To{}, to);
  }
}

}  // namespace

void packFilter(const RawValues& filter, const FilterShape& shape, std::span<uint8_t> to,
                bool halves) {
  if (halves) {
    packReals(filter, shape, reinterpret_cast<Float16*>(to.data()));
  } else if (!isByteFilter(filter.type)) {
    packReals(filter, shape, reinterpret_cast<float*>(to.data()));
  } else {
    pack(filter.as<uint8_t>(), shape, static_cast<uint8_t>(filter.zeroPoint), to.data());
  }
}

void packBias(const RawValues& bias, size_t channels, std::span<uint8_t> to) {
  auto* const values = reinterpret_cast<float*>(to.data());
  std::fill_n(values, to.size() / sizeof(float), 0.0f);
  for (size_t c = 0; c < channels; ++c) {
    values[c] = bias.type == OperandType::TENSOR_FLOAT16 ? toFloat(bias.as<Float16>()[c])
                                                         : bias.as<float>()[c];
  }
}

void packAddends(const RawValues& filter, const RawValues& bias, const FilterShape& shape,
                 int32_t inputZeroPoint, std::span<uint8_t> to) {
  std::ranges::fill(to, uint8_t{0});
  const size_t weights = shape.taps * shape.depth;
  for (size_t c = 0; c < shape.channels; ++c) {
    int64_t sum = 0;
    for (size_t i = 0; i < weights; ++i) {
      sum += weightAt(filter, c * weights + i) - filter.zeroPoint;
    }
    // The device's sums wrap around in the same way.
    const auto addend = static_cast<int32_t>(bias.as<int32_t>()[c] - sum * inputZeroPoint);
    std::memcpy(to.data() + c * sizeof addend, &addend, sizeof addend);
  }
}

bool sumsFit(const ops::Tensor& bias, const FilterShape& shape) {
  const size_t weights = shape.taps * shape.depth;
  // The products of bytes less their zero points.
  constexpr int64_t kLargestProduct = 255 * 255;
  const auto sum = static_cast<int64_t>(weights) * kLargestProduct;
  for (size_t c = 0; c < shape.channels; ++c) {
    const int64_t addend = bias.as<int32_t>()[c];
    if (sum + std::abs(addend) > std::numeric_limits<int32_t>::max()) return false;
  }
  return true;
}

}  // namespace halyard::vulkandriver

// Random operands of every type, their real values, and access to their elements.
// Thread safety: none needed.
// Ownership: a RandomOperands owns the per-channel scales of its operands.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/float16.h"
#include "ops/activation.h"
#include "ops/testing/test_operand.h"

namespace halyard::ops::testing {

inline size_t elementsOf(const Shape& dims) {
  size_t count = 1;
  for (uint32_t d : dims) count *= d;
  return count;
}

// Converts between the index of an element in row-major order and its coordinates.
inline std::vector<size_t> coordinatesOf(size_t index, const Shape& dims) {
  std::vector<size_t> result(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    result[d] = index % dims[d];
    index /= dims[d];
  }
  return result;
}
inline size_t indexOf(const std::vector<size_t>& coordinates, const Shape& dims) {
  size_t index = 0;
  for (size_t d = 0; d < dims.size(); ++d) index = index * dims[d] + coordinates[d];
  return index;
}

// Returns the real values of the stored elements.
inline std::vector<double> realValues(const TestOperand& operand) {
  const Tensor& tensor = operand.tensor;
  const auto scaled = [&](auto stored) {
    std::vector<double> reals;
    for (auto q : stored) {
      reals.push_back(static_cast<double>(tensor.scale) * (static_cast<int>(q) - tensor.zeroPoint));
    }
    return reals;
  };
  switch (tensor.type) {
    case OperandType::TENSOR_FLOAT32: {
      const auto values = operand.values<float>();
      return {values.begin(), values.end()};
    }
    case OperandType::TENSOR_FLOAT16: {
      std::vector<double> reals;
      for (Float16 h : operand.values<Float16>()) reals.push_back(toFloat(h));
      return reals;
    }
    case OperandType::TENSOR_QUANT8_ASYMM:
      return scaled(operand.values<uint8_t>());
    case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL: {
      const auto values = operand.values<int8_t>();
      size_t inner = 1;
      for (size_t d = tensor.channelQuant->channelDim + 1; d < tensor.dims.size(); ++d) {
        inner *= tensor.dims[d];
      }
      const auto& scales = tensor.channelQuant->scales;
      std::vector<double> reals;
      for (size_t i = 0; i < values.size(); ++i) {
        reals.push_back(static_cast<double>(scales[i / inner % scales.size()]) * values[i]);
      }
      return reals;
    }
    case OperandType::TENSOR_INT32:
      return scaled(operand.values<int32_t>());
    default:
      return scaled(operand.values<int8_t>());
  }
}

class RandomOperands {
 public:
  explicit RandomOperands(unsigned seed) : engine_(seed) {}

  // The standard library's distributions differ between libraries, but the same seed must give the
  // same numbers everywhere.
  int between(int low, int high) {
    const auto count = static_cast<uint64_t>(int64_t{high} - low + 1);
    return static_cast<int>(low + static_cast<int64_t>(engine_() * count >> 32));
  }
  bool coin() { return between(0, 1) == 1; }
  // There is only one rounding, so that compilers with and without contraction of sums and products
  // agree.
  float realBetween(float low, float high) {
    return std::fma(high - low, static_cast<float>(engine_() >> 8) * 0x1p-24f, low);
  }
  template <typename T>
  T oneOf(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<int>(values.size()) - 1)];
  }

  // Floats lie in [-1, 1]; 8-bit types use their whole range with random parameters.
  TestOperand tensor(OperandType type, const Shape& dims) {
    const size_t count = elementsOf(dims);
    if (type == OperandType::TENSOR_FLOAT32) {
      std::vector<float> values(count);
      for (float& value : values) value = realBetween(-1, 1);
      return TestOperand::of<float>(type, dims, values);
    }
    if (type == OperandType::TENSOR_FLOAT16) {
      std::vector<Float16> values(count);
      for (Float16& value : values) value = toFloat16(realBetween(-1, 1));
      return TestOperand::of<Float16>(type, dims, values);
    }
    std::vector<uint8_t> values(count);
    for (uint8_t& value : values) value = static_cast<uint8_t>(between(0, 255));
    const int zeroPoint =
        type == OperandType::TENSOR_QUANT8_ASYMM ? between(0, 255) : between(-128, 127);
    return TestOperand::of<uint8_t>(type, dims, values, realBetween(0.002f, 0.05f), zeroPoint);
  }
  TestOperand perChannelFilter(const Shape& dims, uint32_t channelDim) {
    TestOperand filter = tensor(OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL, dims);
    auto quant = std::make_unique<SymmPerChannelQuantParams>();
    quant->channelDim = channelDim;
    for (uint32_t c = 0; c < dims[channelDim]; ++c) {
      quant->scales.push_back(realBetween(0.002f, 0.05f));
    }
    filter.tensor.scale = 0;
    filter.tensor.zeroPoint = 0;
    filter.tensor.channelQuant = quant.get();
    channelQuants_.push_back(std::move(quant));
    return filter;
  }
  // Returns a bias with the scale that the definitions require.
  TestOperand bias(const TestOperand& input, const TestOperand& filter, uint32_t channels) {
    if (!isQuant8Asymm(input.tensor.type)) return tensor(input.tensor.type, {channels});
    std::vector<int32_t> values(channels);
    for (int32_t& value : values) value = between(-20000, 20000);
    return TestOperand::of<int32_t>(OperandType::TENSOR_INT32, {channels}, values,
                                    input.tensor.scale * filter.tensor.scale);
  }
  // Returns an output for results of about `magnitude`.
  TestOperand output(OperandType type, double magnitude) {
    if (!isQuant8Asymm(type)) return TestOperand::output(type);
    const int zeroPoint =
        type == OperandType::TENSOR_QUANT8_ASYMM ? between(60, 190) : between(-60, 60);
    return TestOperand::output(type, static_cast<float>(magnitude / 100), zeroPoint);
  }

 private:
  std::mt19937 engine_;
  std::vector<std::unique_ptr<SymmPerChannelQuantParams>> channelQuants_;
};

// Returns the elements of [N,H,W,C] in the order of [N,C,H,W], or the reverse with `back`.
template <typename T>
std::vector<T> permuted(const std::vector<T>& values, const Shape& nhwc, bool back) {
  std::vector<T> result(values.size());
  size_t first = 0;
  for (size_t n = 0; n < nhwc[0]; ++n) {
    for (size_t y = 0; y < nhwc[1]; ++y) {
      for (size_t x = 0; x < nhwc[2]; ++x) {
        for (size_t c = 0; c < nhwc[3]; ++c, ++first) {
          const size_t second = ((n * nhwc[3] + c) * nhwc[1] + y) * nhwc[2] + x;
          back ? result[first] = values[second] : result[second] = values[first];
        }
      }
    }
  }
  return result;
}

// Returns the same image channels first.
inline TestOperand toNchw(const TestOperand& image) {
  TestOperand result = image;
  const Shape& d = image.tensor.dims;
  const size_t size = elementSize(image.tensor.type);
  std::vector<size_t> order(elementsOf(d));
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  order = permuted(order, d, false);
  for (size_t i = 0; i < order.size(); ++i) {
    std::memcpy(&result.bytes[i * size], &image.bytes[order[i] * size], size);
  }
  result.tensor.dims = {d[0], d[3], d[1], d[2]};
  return result;
}

inline double activated(double x, FuseCode code) {
  switch (code) {
    case FuseCode::RELU:
      return std::max(x, 0.0);
    case FuseCode::RELU1:
      return std::clamp(x, -1.0, 1.0);
    case FuseCode::RELU6:
      return std::clamp(x, 0.0, 6.0);
    default:
      return x;
  }
}

inline TestOperand intList(const std::vector<int32_t>& values) {
  return TestOperand::of<int32_t>(OperandType::TENSOR_INT32, {static_cast<uint32_t>(values.size())},
                                  values);
}
inline TestOperand float16(float value) {
  return TestOperand::of<Float16>(OperandType::FLOAT16, {}, {toFloat16(value)});
}
// Returns a scalar of the precision for tensors of `type`.
inline TestOperand realScalar(OperandType type, float value) {
  return type == OperandType::TENSOR_FLOAT16 ? float16(value) : TestOperand::float32(value);
}
// Returns the output of an operation that passes on its input's elements.
inline TestOperand outputLike(const TestOperand& input) {
  return TestOperand::output(input.tensor.type, input.tensor.scale, input.tensor.zeroPoint);
}

}  // namespace halyard::ops::testing

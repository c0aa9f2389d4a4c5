// Random operands, their real values and comparisons for tests of operations on images.
// Thread safety: none needed.
// Ownership: a RandomOperands owns the per-channel scales of the operands it made.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/float16.h"
#include "ops/activation.h"
#include "ops/run_for_test.h"

namespace halyard::ops::testing {

inline size_t elementsOf(const Shape& dims) {
  size_t count = 1;
  for (uint32_t d : dims) count *= d;
  return count;
}

// What the stored elements stand for.
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

  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  bool coin() { return between(0, 1) == 1; }
  float realBetween(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(engine_);
  }
  template <typename T>
  T oneOf(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<int>(values.size()) - 1)];
  }

  // Floats lie in [-1, 1]; 8 bit types use their whole range with random parameters.
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
  // With the scale that the definitions ask for.
  TestOperand bias(const TestOperand& input, const TestOperand& filter, uint32_t channels) {
    if (!isQuant8Asymm(input.tensor.type)) return tensor(input.tensor.type, {channels});
    std::vector<int32_t> values(channels);
    for (int32_t& value : values) value = between(-20000, 20000);
    return TestOperand::of<int32_t>(OperandType::TENSOR_INT32, {channels}, values,
                                    input.tensor.scale * filter.tensor.scale);
  }
  // An output for results of about `magnitude`.
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

// Elements of [N,H,W,C] in the order of [N,C,H,W], or back with `back`.
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

// The same image channels first.
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

// Compares a result with real values: floats within the conformance tolerances, quantised ones with
// the value rounded to nearest (off by one is allowed where the real value is all but a tie).
// `slack` is added to the tolerance of floats.
inline void expectReals(const TestOperand& actual, const std::vector<double>& expected,
                        const std::string& what, double slack = 0) {
  const std::vector<double> reals = realValues(actual);
  ASSERT_EQ(reals.size(), expected.size()) << what;
  const Tensor& tensor = actual.tensor;
  const ClampRange<int32_t> range = quantizedRange(tensor.type);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (isQuant8Asymm(tensor.type)) {
      const double scale = static_cast<double>(tensor.scale);
      const double units = expected[i] / scale + tensor.zeroPoint;
      const double wanted = std::clamp(std::round(units), double(range.min), double(range.max));
      const double got = std::round(reals[i] / scale) + tensor.zeroPoint;
      const bool tie = std::abs(units - std::floor(units) - 0.5) < 1e-4;
      ASSERT_LE(std::abs(got - wanted), tie ? 1 : 0) << what << ", element " << i;
    } else {
      const bool half = tensor.type == OperandType::TENSOR_FLOAT16;
      const double absolute = (half ? 5.0 / 1024 : 1e-5) + slack;
      const double relative = half ? 5.0 / 1024 : 5.0 / (1 << 23);
      ASSERT_NEAR(reals[i], expected[i], absolute + relative * std::abs(expected[i]))
          << what << ", element " << i;
    }
  }
}

}  // namespace halyard::ops::testing

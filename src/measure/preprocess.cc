// Converts pixels to elements of tensors.
#include "measure/preprocess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/float16.h"
#include "measure/tensor_values.h"

namespace halyard::measure {
namespace {

// The real value of each pixel value. There is one table per channel, or one for all if they are
// equal.
using PixelTable = std::array<float, 256>;

struct PixelMapping {
  std::vector<PixelTable> tables;
  std::string how;
};

PixelTable tableOf(double factor, double offset) {
  PixelTable table;
  for (size_t p = 0; p < table.size(); ++p) {
    table[p] = static_cast<float>(static_cast<double>(p) * factor + offset);
  }
  return table;
}

PixelMapping rangeMapping(float low, float high) {
  const double factor = (static_cast<double>(high) - low) / 255;
  return {{tableOf(factor, low)}, fmt::format("pixels scaled to [{:g}, {:g}]", low, high)};
}

PixelMapping mappingOf(const PixelOptions& options, uint32_t channels) {
  if (options.range) return rangeMapping(options.range->first, options.range->second);
  if (options.mean.empty()) return channels == 3 ? rangeMapping(-1, 1) : rangeMapping(0, 1);
  PixelMapping mapping;
  for (size_t c = 0; c < options.mean.size(); ++c) {
    const double factor = 1.0 / options.std[c];
    mapping.tables.push_back(tableOf(factor, -options.mean[c] * factor));
  }
  mapping.how = fmt::format("pixels as (p - {:g}) / {:g}", fmt::join(options.mean, ","),
                            fmt::join(options.std, ","));
  return mapping;
}

bool isQuantized(OperandType type) { return isQuant8Asymm(type); }

// "raw pixels", and whether raw pixels are known to be right for the quantised range.
std::string rawPixelsText(const TensorType& tensor) {
  const bool isSigned = tensor.type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
  const int32_t lowest = isSigned ? -128 : 0;
  const double low = static_cast<double>(lowest - tensor.zeroPoint) * tensor.scale;
  const double high = low + 255.0 * tensor.scale;
  constexpr std::pair<double, double> kUsual[] = {{-1, 1}, {0, 1}, {0, 255}};
  const bool usual = std::any_of(std::begin(kUsual), std::end(kUsual), [&](const auto& range) {
    const double slack = (range.second - range.first) / 100;
    return std::abs(low - range.first) <= slack && std::abs(high - range.second) <= slack;
  });
  return fmt::format("raw pixels{} (quantised range [{:.3g}, {:.3g}]{})",
                     isSigned ? " minus 128" : "", low, high,
                     usual ? "" : ", none of the usual: give --input-range if that is wrong");
}

void appendReal(std::vector<uint8_t>* bytes, const TensorType& tensor, float value) {
  switch (tensor.type) {
    case OperandType::TENSOR_FLOAT32:
      return appendElement(bytes, value);
    case OperandType::TENSOR_FLOAT16:
      return appendElement(bytes, toFloat16(value));
    default: {
      const bool isSigned = tensor.type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
      const double low = isSigned ? -128 : 0;
      const double q = std::round(static_cast<double>(value) / tensor.scale) + tensor.zeroPoint;
      const auto clamped = static_cast<int32_t>(std::clamp(q, low, low + 255));
      bytes->push_back(static_cast<uint8_t>(clamped));
    }
  }
}

}  // namespace

std::optional<ImageGeometry> imageGeometry(OperandType type, const Shape& dims) {
  if (type != OperandType::TENSOR_FLOAT32 && type != OperandType::TENSOR_FLOAT16 &&
      !isQuantized(type)) {
    return std::nullopt;
  }
  const bool oneOrUnknown = !dims.empty() && dims[0] <= 1;
  const bool colours = !dims.empty() && (dims.back() == 1 || dims.back() == 3);
  if (dims.size() == 4 && oneOrUnknown && colours) return ImageGeometry{dims[1], dims[2], dims[3]};
  if (dims.size() == 3 && dims[0] == 1 && dims[2] > 3) return ImageGeometry{dims[1], dims[2], 1};
  if (dims.size() == 3 && colours) return ImageGeometry{dims[0], dims[1], dims[2]};
  return std::nullopt;
}

Status checkPixelOptions(const PixelOptions& options, uint32_t channels) {
  if (options.range && !options.mean.empty()) {
    return badData("give a range or mean and standard deviation, not both");
  }
  if (options.mean.size() != options.std.size()) {
    return badData("{} values of mean for {} of standard deviation", options.mean.size(),
                   options.std.size());
  }
  if (options.mean.size() > 1 && options.mean.size() != channels) {
    return badData("{} values of mean for {} channel{}", options.mean.size(), channels,
                   channels == 1 ? "" : "s");
  }
  for (size_t i = 0; i < options.std.size(); ++i) {
    if (!std::isfinite(options.mean[i]) || !std::isfinite(options.std[i]) || options.std[i] == 0) {
      return badData("mean {} and standard deviation {} do not make a number", options.mean[i],
                     options.std[i]);
    }
  }
  if (options.range &&
      (!std::isfinite(options.range->first) || !std::isfinite(options.range->second))) {
    return badData("the range [{}, {}] is not finite", options.range->first, options.range->second);
  }
  return okStatus();
}

Result<ImageTensor> imageToTensor(const media::Image& image, const TensorType& tensor,
                                  const PixelOptions& options) {
  HALYARD_RETURN_IF_ERROR(checkPixelOptions(options, image.channels));
  const bool quantized = isQuantized(tensor.type);
  if (!quantized && tensor.type != OperandType::TENSOR_FLOAT32 &&
      tensor.type != OperandType::TENSOR_FLOAT16) {
    return badData("a {} tensor cannot take a picture", operandTypeName(tensor.type));
  }
  if (quantized && !options.range && options.mean.empty()) {
    ImageTensor raw{image.pixels, rawPixelsText(tensor)};
    if (tensor.type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED) {
      // Flipping the top bit subtracts 128 in two's complement.
      for (uint8_t& byte : raw.bytes) byte ^= 0x80;
    }
    return raw;
  }
  const PixelMapping mapping = mappingOf(options, image.channels);
  ImageTensor result;
  result.how = mapping.how + (quantized ? ", then quantised" : "");
  result.bytes.reserve(image.pixels.size() * elementSize(tensor.type));
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const PixelTable& table = mapping.tables[i % image.channels % mapping.tables.size()];
    appendReal(&result.bytes, tensor, table[image.pixels[i]]);
  }
  return result;
}

}  // namespace halyard::measure

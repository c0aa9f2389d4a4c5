// MobileNet v1 and v2.
#include "workloads/model_maker.h"
#include "workloads/workloads.h"

namespace halyard::workloads {
namespace {

constexpr int32_t kNone = 0;
constexpr int32_t kRelu6 = 3;
constexpr int32_t kPadSame = 1;
constexpr int32_t kPadValid = 2;
constexpr uint32_t kClasses = 1001;

bool isFloat(Numbers numbers) { return numbers <= Numbers::FLOAT16; }

// The type of images, with values from 0 to 6.
Kind imageKind(Numbers numbers) {
  switch (numbers) {
    case Numbers::FLOAT32:
    case Numbers::RELAXED:
      return {OperandType::TENSOR_FLOAT32};
    case Numbers::FLOAT16:
      return {OperandType::TENSOR_FLOAT16};
    case Numbers::QUANT8:
      return {OperandType::TENSOR_QUANT8_ASYMM, 6.0f / 255, 0};
    case Numbers::QUANT8_SIGNED:
    case Numbers::PER_CHANNEL:
      return {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, 6.0f / 255, -128};
  }
  return {};
}

class MobileNet {
 public:
  explicit MobileNet(Numbers numbers) : numbers_(numbers), image_(imageKind(numbers)) {
    if (numbers == Numbers::RELAXED) maker_.relax();
  }

  std::shared_ptr<const Model> v1() {
    uint32_t x = conv(maker_.input(image_, {1, 224, 224, 3}), 3, 2, 32, kRelu6);
    const std::pair<uint32_t, uint32_t> blocks[] = {
        {64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
        {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
    for (const auto& [channels, stride] : blocks) {
      x = conv(depthwise(x, stride), 1, 1, channels, kRelu6);
    }
    return finish(x);
  }

  std::shared_ptr<const Model> v2() {
    struct Stage {
      uint32_t expansion;
      uint32_t channels;
      uint32_t count;
      uint32_t stride;
    };
    const Stage stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                            {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    uint32_t x = conv(maker_.input(image_, {1, 224, 224, 3}), 3, 2, 32, kRelu6);
    for (const Stage& stage : stages) {
      for (uint32_t i = 0; i < stage.count; ++i) {
        const uint32_t before = x;
        const uint32_t depth = maker_.dims(x)[3];
        if (stage.expansion > 1) x = conv(x, 1, 1, depth * stage.expansion, kRelu6);
        x = conv(depthwise(x, i == 0 ? stage.stride : 1), 1, 1, stage.channels, kNone);
        if (i == 0) continue;
        const Shape dims = maker_.dims(x);
        x = maker_.result(OperationType::ADD, {before, x, maker_.int32(kNone)}, image_, dims);
      }
    }
    return finish(conv(x, 1, 1, 1280, kRelu6));
  }

 private:
  uint32_t weights(const Shape& shape, uint32_t channel) {
    if (isFloat(numbers_)) return maker_.randomConstant(image_, shape, 0.125f);
    if (numbers_ == Numbers::PER_CHANNEL) {
      const uint32_t index =
          maker_.randomConstant({OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL}, shape);
      std::vector<float> scales(shape[channel]);
      for (size_t i = 0; i < scales.size(); ++i) {
        scales[i] = 0.001f + 1e-6f * static_cast<float>(i);
      }
      maker_.setScales(index, channel, std::move(scales));
      return index;
    }
    return maker_.randomConstant({image_.type, 0.001f, image_.zeroPoint + 128}, shape);
  }

  uint32_t bias(uint32_t filter, uint32_t channels) {
    if (isFloat(numbers_)) return maker_.randomConstant(image_, {channels}, 0.1f);
    // With per-channel filters, a bias has scale 0. The scale of each channel follows from the
    // filter.
    const float scale =
        numbers_ == Numbers::PER_CHANNEL ? 0 : image_.scale * maker_.operand(filter).scale;
    return maker_.constant({OperandType::TENSOR_INT32, scale, 0}, {channels},
                           std::vector<int32_t>(channels));
  }

  static Shape shrunk(const Shape& in, uint32_t stride, uint32_t channels) {
    return {1, (in[1] + stride - 1) / stride, (in[2] + stride - 1) / stride, channels};
  }

  uint32_t conv(uint32_t x, uint32_t filter, uint32_t stride, uint32_t channels,
                int32_t activation) {
    const Shape in = maker_.dims(x);
    const uint32_t w = weights({channels, filter, filter, in[3]}, 0);
    const auto step = static_cast<int32_t>(stride);
    return maker_.result(OperationType::CONV_2D,
                         {x, w, bias(w, channels), maker_.int32(kPadSame), maker_.int32(step),
                          maker_.int32(step), maker_.int32(activation)},
                         image_, shrunk(in, stride, channels));
  }

  uint32_t depthwise(uint32_t x, uint32_t stride) {
    const Shape in = maker_.dims(x);
    const uint32_t w = weights({1, 3, 3, in[3]}, 3);
    const auto step = static_cast<int32_t>(stride);
    return maker_.result(OperationType::DEPTHWISE_CONV_2D,
                         {x, w, bias(w, in[3]), maker_.int32(kPadSame), maker_.int32(step),
                          maker_.int32(step), maker_.int32(1), maker_.int32(kRelu6)},
                         image_, shrunk(in, stride, in[3]));
  }

  std::shared_ptr<const Model> finish(uint32_t x) {
    const auto size = static_cast<int32_t>(maker_.dims(x)[1]);
    const uint32_t pooled =
        maker_.result(OperationType::AVERAGE_POOL_2D,
                      {x, maker_.int32(kPadValid), maker_.int32(size), maker_.int32(size),
                       maker_.int32(size), maker_.int32(size), maker_.int32(kNone)},
                      image_, {1, 1, 1, maker_.dims(x)[3]});
    const uint32_t scores = conv(pooled, 1, 1, kClasses, kNone);
    const std::vector<int32_t> flat = {1, kClasses};
    const uint32_t shape = maker_.constant({OperandType::TENSOR_INT32}, {2}, flat);
    const uint32_t logits =
        maker_.result(OperationType::RESHAPE, {scores, shape}, image_, {1, kClasses});
    Kind probabilities = image_;
    if (!isFloat(numbers_)) probabilities.scale = 1.0f / 256;
    const uint32_t beta = maker_.real(image_.type, 1);
    maker_.makeOutput(
        maker_.result(OperationType::SOFTMAX, {logits, beta}, probabilities, {1, kClasses}));
    return maker_.take();
  }

  const Numbers numbers_;
  const Kind image_;
  ModelMaker maker_;
};

}  // namespace

std::shared_ptr<const Model> mobileNetV1(Numbers numbers) { return MobileNet(numbers).v1(); }
std::shared_ptr<const Model> mobileNetV2(Numbers numbers) { return MobileNet(numbers).v2(); }

}  // namespace halyard::workloads

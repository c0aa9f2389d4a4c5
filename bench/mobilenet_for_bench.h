// MobileNet v1 and v2 at full width with random weights, where only speed matters.
// Thread safety: pure functions. Ownership: models are the caller's.
#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "halyard/driver/model.h"

namespace halyard::bench {

class MobileNetBuilder {
 public:
  // TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED throughout.
  explicit MobileNetBuilder(OperandType type) : type_(type) {}

  // Howard et al., MobileNets: Efficient Convolutional Neural Networks for Mobile Vision
  // Applications, 2017, table 1.
  std::shared_ptr<const Model> v1() {
    uint32_t x = input();
    x = conv(x, 3, 2, 32, kRelu6);
    const std::pair<uint32_t, uint32_t> blocks[] = {
        {64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
        {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
    for (const auto& [channels, stride] : blocks) {
      x = conv(depthwise(x, stride), 1, 1, channels, kRelu6);
    }
    return finish(x);
  }

  // Sandler et al., MobileNetV2: Inverted Residuals and Linear Bottlenecks, 2018, table 2.
  std::shared_ptr<const Model> v2() {
    struct Stage {
      uint32_t expansion;
      uint32_t channels;
      uint32_t count;
      uint32_t stride;
    };
    const Stage stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                            {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    uint32_t x = conv(input(), 3, 2, 32, kRelu6);
    for (const Stage& stage : stages) {
      for (uint32_t i = 0; i < stage.count; ++i) {
        const uint32_t before = x;
        const uint32_t depth = dims(x)[3];
        if (stage.expansion > 1) x = conv(x, 1, 1, depth * stage.expansion, kRelu6);
        x = conv(depthwise(x, i == 0 ? stage.stride : 1), 1, 1, stage.channels, kNone);
        if (i > 0) x = operation(OperationType::ADD, {before, x, int32(kNone)}, dims(x));
      }
    }
    return finish(conv(x, 1, 1, 1280, kRelu6));
  }

 private:
  static constexpr int32_t kNone = 0;
  static constexpr int32_t kRelu6 = 3;

  const Shape& dims(uint32_t operand) const { return model_.main.operands[operand].dimensions; }

  uint32_t add(Operand operand) {
    model_.main.operands.push_back(std::move(operand));
    return static_cast<uint32_t>(model_.main.operands.size() - 1);
  }
  Operand tensor(const Shape& shape) const {
    Operand operand;
    operand.type = type_;
    operand.dimensions = shape;
    if (type_ == OperandType::TENSOR_FLOAT32) return operand;
    operand.scale = 6.0f / 255;
    operand.zeroPoint = type_ == OperandType::TENSOR_QUANT8_ASYMM ? 0 : -128;
    return operand;
  }
  uint32_t input() {
    Operand operand = tensor({1, 224, 224, 3});
    operand.lifetime = Lifetime::SUBGRAPH_INPUT;
    model_.main.inputIndexes.push_back(add(operand));
    return model_.main.inputIndexes[0];
  }
  uint32_t int32(int32_t value) {
    Operand operand;
    operand.type = OperandType::INT32;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    operand.location = appendConstant(model_, &value, sizeof value);
    return add(operand);
  }
  uint32_t weights(const Shape& shape) {
    Operand operand = tensor(shape);
    operand.lifetime = Lifetime::CONSTANT_COPY;
    const size_t count = *knownElementCount(shape);
    if (type_ == OperandType::TENSOR_FLOAT32) {
      std::vector<float> values(count);
      for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(engine_) / 8;
      operand.location = appendConstant(model_, values.data(), count * sizeof(float));
    } else {
      std::vector<uint8_t> values(count);
      for (uint8_t& value : values) value = static_cast<uint8_t>(engine_());
      operand.scale = 0.001f;
      operand.zeroPoint += 128;
      operand.location = appendConstant(model_, values.data(), count);
    }
    return add(operand);
  }
  uint32_t bias(uint32_t image, uint32_t filter, uint32_t channels) {
    Operand operand;
    operand.type = type_ == OperandType::TENSOR_FLOAT32 ? type_ : OperandType::TENSOR_INT32;
    operand.dimensions = {channels};
    operand.scale = model_.main.operands[image].scale * model_.main.operands[filter].scale;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    const std::vector<int32_t> zeros(channels);
    operand.location = appendConstant(model_, zeros.data(), channels * sizeof(int32_t));
    return add(operand);
  }
  uint32_t operation(OperationType type, std::vector<uint32_t> inputs, const Shape& shape) {
    const uint32_t output = add(tensor(shape));
    model_.main.operations.push_back({type, std::move(inputs), {output}});
    return output;
  }
  // With padding so that the image shrinks by the stride only.
  uint32_t conv(uint32_t x, uint32_t filter, uint32_t stride, uint32_t channels,
                int32_t activation) {
    const Shape in = dims(x);
    const uint32_t w = weights({channels, filter, filter, in[3]});
    const auto step = static_cast<int32_t>(stride);
    return operation(
        OperationType::CONV_2D,
        {x, w, bias(x, w, channels), int32(1), int32(step), int32(step), int32(activation)},
        {1, (in[1] + stride - 1) / stride, (in[2] + stride - 1) / stride, channels});
  }
  uint32_t depthwise(uint32_t x, uint32_t stride) {
    const Shape in = dims(x);
    const uint32_t w = weights({1, 3, 3, in[3]});
    const auto step = static_cast<int32_t>(stride);
    return operation(
        OperationType::DEPTHWISE_CONV_2D,
        {x, w, bias(x, w, in[3]), int32(1), int32(step), int32(step), int32(1), int32(kRelu6)},
        {1, (in[1] + stride - 1) / stride, (in[2] + stride - 1) / stride, in[3]});
  }
  std::shared_ptr<const Model> finish(uint32_t x) {
    const auto size = static_cast<int32_t>(dims(x)[1]);
    const uint32_t pooled =
        operation(OperationType::AVERAGE_POOL_2D,
                  {x, int32(2), int32(size), int32(size), int32(size), int32(size), int32(kNone)},
                  {1, 1, 1, dims(x)[3]});
    const uint32_t w = weights({1001, dims(x)[3]});
    const uint32_t logits = operation(OperationType::FULLY_CONNECTED,
                                      {pooled, w, bias(pooled, w, 1001), int32(kNone)}, {1, 1001});
    model_.main.operands[logits].lifetime = Lifetime::SUBGRAPH_OUTPUT;
    model_.main.outputIndexes = {logits};
    return std::make_shared<const Model>(std::move(model_));
  }

  const OperandType type_;
  Model model_;
  std::mt19937 engine_{1};
};

}  // namespace halyard::bench

// A model of several layers for tests, with its sizes known or left to executions.
// Thread safety: none needed.
// Ownership: models own their constants.
#pragma once

#include <bit>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "compiled_model.h"
#include "halyard/driver/device.h"

namespace halyard::cpudriver::testing {

// Two convolutions with a depthwise convolution in between, and a full connection; their weights
// are packed. Between them, reference kernels compute operations with a constant that they read.
// Quantised with `type` TENSOR_QUANT8_ASYMM. Weights differ with `seed`.
class ModelForTest {
 public:
  explicit ModelForTest(OperandType type, unsigned seed = 1) : type_(type), engine_(seed) {
    const uint32_t image = tensor({1, kSide, kSide, 4}, 0.02f, Lifetime::SUBGRAPH_INPUT);
    const uint32_t one = int32(1);
    const uint32_t none = int32(0);
    const uint32_t same = int32(1);
    const uint32_t first = tensor({1, kSide, kSide, 40}, 0.2f);
    operation(OperationType::CONV_2D,
              {image, weights({40, 3, 3, 4}), bias(40, 0.02f), same, one, one, one}, {first});
    const uint32_t second = tensor({1, kSide, kSide, 40}, 0.3f);
    operation(OperationType::DEPTHWISE_CONV_2D,
              {first, weights({1, 3, 3, 40}), bias(40, 0.2f), same, one, one, one, none}, {second});
    const uint32_t shifted = tensor({1, kSide, kSide, 40}, 0.3f);
    operation(OperationType::MAXIMUM, {second, weights({40}, 0.3f)}, {shifted});
    const uint32_t third = tensor({1, kSide, kSide, 8}, 0.5f);
    operation(OperationType::CONV_2D,
              {shifted, weights({8, 1, 1, 40}), bias(8, 0.3f), same, one, one, none}, {third});
    const uint32_t result = tensor({1, 12}, 1.5f, Lifetime::SUBGRAPH_OUTPUT);
    operation(OperationType::FULLY_CONNECTED,
              {third, weights({12, kSide * kSide * 8}), bias(12, 0.5f), none}, {result});
    model_.main.inputIndexes = {image};
    model_.main.outputIndexes = {result};
  }

  std::shared_ptr<const Model> model() const { return std::make_shared<const Model>(model_); }

  // The same, but the batch, which is 1, is left to executions; with `knowsRank` false, all that is
  // no constant.
  std::shared_ptr<const Model> open(bool knowsRank = true) const {
    Model open = model_;
    for (Operand& operand : open.main.operands) {
      if (operand.lifetime == Lifetime::CONSTANT_COPY || operand.dimensions.empty()) continue;
      operand.dimensions[0] = 0;
      if (!knowsRank) operand.dimensions.clear();
    }
    return std::make_shared<const Model>(std::move(open));
  }

  // The dimensions of `batch` inputs and of their results.
  static Shape inputDims(uint32_t batch) { return {batch, kSide, kSide, 4}; }
  static Shape outputDims(uint32_t batch) { return {batch, 12}; }

  // The bytes of the output for an input of random bytes; empty after an error.
  std::vector<uint8_t> run(hal::PreparedModel& prepared) const {
    const uint32_t size = elementSize(type_);
    std::vector<uint8_t> input(kSide * kSide * 4 * size);
    std::mt19937 engine(7);
    for (size_t i = 0; i < input.size() / size; ++i) {
      if (size == 1) {
        input[i] = static_cast<uint8_t>(engine());
      } else {
        const float value = std::uniform_real_distribution<float>(-1, 1)(engine);
        std::memcpy(input.data() + i * size, &value, size);
      }
    }
    std::vector<uint8_t> output(12 * size);
    const auto argument = [](std::vector<uint8_t>& bytes) {
      hal::RequestArgument made;
      made.kind = hal::RequestArgument::Kind::POINTER;
      made.pointer = bytes.data();
      made.length = static_cast<uint32_t>(bytes.size());
      return made;
    };
    hal::Request request;
    request.inputs = {argument(input)};
    request.outputs = {argument(output)};
    const hal::ExecutionResult result = prepared.executeSynchronously(request, {});
    return result.status.ok() ? output : std::vector<uint8_t>();
  }

 private:
  static constexpr uint32_t kSide = 6;

  bool isQuantised() const { return type_ != OperandType::TENSOR_FLOAT32; }

  uint32_t tensor(const Shape& dims, float scale,
                  Lifetime lifetime = Lifetime::TEMPORARY_VARIABLE) {
    Operand operand;
    operand.type = type_;
    operand.dimensions = dims;
    operand.lifetime = lifetime;
    if (isQuantised()) {
      operand.scale = scale;
      operand.zeroPoint = 128;
    }
    return add(operand);
  }
  uint32_t weights(const Shape& dims, float scale = 0.01f) {
    const uint32_t index = tensor(dims, scale, Lifetime::CONSTANT_COPY);
    const size_t count = *knownElementCount(dims);
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i < count; ++i) {
      const float value = std::uniform_real_distribution<float>(-1, 1)(engine_);
      const auto word =
          isQuantised() ? static_cast<uint32_t>(128 + value * 100) : std::bit_cast<uint32_t>(value);
      const auto* const first = reinterpret_cast<const uint8_t*>(&word);
      bytes.insert(bytes.end(), first, first + elementSize(type_));
    }
    model_.main.operands[index].location = appendConstant(model_, bytes.data(), bytes.size());
    return index;
  }
  uint32_t bias(uint32_t count, float inputScale) {
    if (!isQuantised()) return weights({count});
    Operand operand;
    operand.type = OperandType::TENSOR_INT32;
    operand.dimensions = {count};
    operand.scale = inputScale * 0.01f;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    std::vector<int32_t> values(count);
    for (int32_t& value : values) value = static_cast<int32_t>(engine_() % 2000) - 1000;
    operand.location = appendConstant(model_, values.data(), values.size() * sizeof(int32_t));
    return add(operand);
  }
  uint32_t int32(int32_t value) {
    Operand operand;
    operand.type = OperandType::INT32;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    operand.location = appendConstant(model_, &value, sizeof value);
    return add(operand);
  }
  uint32_t add(const Operand& operand) {
    model_.main.operands.push_back(operand);
    return static_cast<uint32_t>(model_.main.operands.size() - 1);
  }
  void operation(OperationType type, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
    model_.main.operations.push_back({type, std::move(inputs), std::move(outputs)});
  }

  const OperandType type_;
  std::mt19937 engine_;
  Model model_;
};

}  // namespace halyard::cpudriver::testing

// Generator: builds a random model step by step.
// Thread safety: none. Ownership: owns the model.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "cpu/model_for_test.h"
#include "ops/testing/test_operand.h"
#include "random_models/random_model.h"

namespace halyard::runtime::random_models {

// A value of the main subgraph that later operations may read.
struct Value {
  uint32_t operand = 0;
  OperandType type = OperandType::TENSOR_FLOAT32;
  Shape dims;
  float scale = 0;
  int32_t zeroPoint = 0;
};

class Generator {
 public:
  explicit Generator(uint32_t seed);

  // --- Random choices. Written here, because distributions differ between libraries.
  uint32_t upTo(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool chance(uint32_t oneIn) { return upTo(oneIn) == 0; }
  template <typename List>
  auto oneOf(const List& list) {
    return list[upTo(static_cast<uint32_t>(list.size()))];
  }

  // --- Values. Newer values of a type are picked more often, so chains grow long.
  std::optional<Value> pick(OperandType type) { return pickIf(type, std::nullopt); }
  std::optional<Value> pickRank(OperandType type, size_t rank) { return pickIf(type, rank); }
  // A value of the same type and dimensions: maybe the same value, maybe a new input.
  Value sameAs(const Value& value);
  // A new temporary, for an operation's output.
  Value add(OperandType type, const Shape& dims, float scale = 0, int32_t zeroPoint = 0,
            const ops::Tensor& like = {});
  Value like(const Value& value) {
    return add(value.type, value.dims, value.scale, value.zeroPoint);
  }
  // Its dimensions must stay known.
  void fix(const Value& value) { fixed_.push_back(value.operand); }

  // --- Constants, and inputs of the model
  uint32_t int32(int32_t value) { return model_.int32(value); }
  uint32_t boolean(bool value) {
    return model_.constant<uint8_t>(OperandType::BOOL, {}, {static_cast<uint8_t>(value)});
  }
  uint32_t float32(float value) {
    return model_.constant<float>(OperandType::FLOAT32, {}, {value});
  }
  uint32_t ints(const std::vector<int32_t>& values) {
    return model_.constant<int32_t>(OperandType::TENSOR_INT32,
                                    {static_cast<uint32_t>(values.size())}, values);
  }
  uint32_t floats(const Shape& dims);
  uint32_t constant(const ops::testing::TestOperand& from);
  uint32_t omitted(const ops::testing::TestOperand& from);
  uint32_t input(const ops::testing::TestOperand& from);
  uint32_t condition();  // TENSOR_BOOL8[1]
  uint32_t reference(const cpu::testing::TestModel& other) { return model_.reference(other); }

  void operation(OperationType type, const std::vector<uint32_t>& inputs,
                 const std::vector<Value>& outputs);

  // Most values without a reader become outputs, and some values with a reader.
  RandomModel finish();

  static uint32_t elements(const Shape& dims) {
    uint32_t count = 1;
    for (const uint32_t dimension : dims) count *= dimension;
    return count;
  }

 private:
  std::optional<Value> pickIf(OperandType type, std::optional<size_t> rank);
  Value newInput(OperandType type, const Shape& dims, float scale, int32_t zeroPoint);
  std::vector<uint8_t> randomBytes(OperandType type, const Shape& dims);
  void describe(uint32_t operand, const ops::Tensor& tensor);
  void chooseOutputs();
  // Leaves dimensions of inputs, temporaries and outputs unknown.
  void openDimensions();

  std::mt19937 random_;
  cpu::testing::TestModel model_;
  std::vector<Value> values_;
  std::vector<Tensor> inputs_;
  std::vector<uint32_t> fixed_;
};

}  // namespace halyard::runtime::random_models

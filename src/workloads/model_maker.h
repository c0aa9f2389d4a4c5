// ModelMaker: builds a model operand by operand.
// Thread safety: one thread at a time. Ownership: owns the model until take().
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "halyard/driver/model.h"

namespace halyard::workloads {

// A type with its quantisation parameters.
struct Kind {
  OperandType type = OperandType::TENSOR_FLOAT32;
  float scale = 0;
  int32_t zeroPoint = 0;
};

class ModelMaker {
 public:
  uint32_t input(const Kind& kind, const Shape& dims);
  uint32_t temporary(const Kind& kind, const Shape& dims);
  uint32_t omitted(OperandType type);
  uint32_t constant(const Kind& kind, const Shape& dims, const void* bytes, size_t length);
  template <typename T>
  uint32_t constant(const Kind& kind, const Shape& dims, const std::vector<T>& values) {
    return constant(kind, dims, values.data(), values.size() * sizeof(T));
  }
  uint32_t int32(int32_t value);
  uint32_t boolean(bool value);
  // A scalar of the type that belongs to tensors of `type`: FLOAT32 or FLOAT16.
  uint32_t real(OperandType type, float value);
  // Random values. 8-bit values cover the range of the type; floats have an absolute value of at
  // most `most`.
  uint32_t randomConstant(const Kind& kind, const Shape& dims, float most = 0.1f);
  // Sets the scales of a constant of type TENSOR_QUANT8_SYMM_PER_CHANNEL, along dimension
  // `channel`.
  void setScales(uint32_t constant, uint32_t channel, std::vector<float> scales);
  // A reference to another model, which becomes a subgraph of this one. `other` must not refer to
  // other models.
  uint32_t reference(const ModelMaker& other);

  void operation(OperationType type, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs);
  // Adds an operation with one result, which is a temporary. Returns the result.
  uint32_t result(OperationType type, std::vector<uint32_t> inputs, const Kind& kind,
                  const Shape& dims);
  // Makes a temporary the next output of the model.
  void makeOutput(uint32_t operand);
  void relax() { model_.relaxComputationFloat32toFloat16 = true; }

  const Operand& operand(uint32_t index) const { return model_.main.operands[index]; }
  const Shape& dims(uint32_t index) const { return operand(index).dimensions; }
  std::shared_ptr<const Model> take() { return std::make_shared<const Model>(std::move(model_)); }

 private:
  uint32_t add(const Kind& kind, const Shape& dims, Lifetime lifetime);

  Model model_;
  std::mt19937 engine_{1};
};

}  // namespace halyard::workloads

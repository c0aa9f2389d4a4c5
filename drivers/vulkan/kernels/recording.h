// Recording: the dispatches of a model, as kernels describe them before memory has places.
// Thread safety: belongs to one thread. Ownership: owns its constants.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/shader_code.h"
#include "device/vulkan_device.h"
#include "ops/operation.h"

namespace halyard::vulkandriver {

// How a shader reads and writes elements. Values as in shaders/memory.glsl.
enum class ElementKind : int32_t { FLOAT32, FLOAT16, INT32, UINT8, INT8, BOOL8 };

// The kind of a type; BAD_DATA for a type that the device does not have.
Result<ElementKind> elementKind(OperandType type);
inline bool isReal(ElementKind kind) {
  return kind == ElementKind::FLOAT32 || kind == ElementKind::FLOAT16;
}

// A tensor of the model, by the index of its operand, or an added constant.
struct Place {
  uint32_t index;
};

// A word that a shader reads: a number, or the offset of a tensor in bytes.
struct Parameter {
  Parameter(int32_t number) : value(number) {}  // NOLINT(google-explicit-constructor)
  Parameter(Place place)                        // NOLINT(google-explicit-constructor)
      : value(static_cast<int32_t>(place.index)), isPlace(true) {}
  static Parameter real(float number);

  int32_t value;
  bool isPlace = false;
};

struct Dispatch {
  Shader shader;
  Variant variant;
  std::vector<Parameter> parameters;
  uint32_t count;  // work items
};

// One operation with known shapes. Constants have data.
struct Site {
  OperationType type;
  ops::OperationContext& context;
  std::span<const uint32_t> inputs;  // operands; omitted ones are in no model's memory
  std::span<const uint32_t> outputs;

  const ops::Tensor& input(size_t i) const { return context.input(i); }
  ops::Tensor& output(size_t i) const { return context.output(i); }
  Place in(size_t i) const { return {inputs[i]}; }
  Place out(size_t i) const { return {outputs[i]}; }
};

class Recording {
 public:
  // `operands`: of the model.
  explicit Recording(size_t operands) : operands_(operands) {}

  void add(Dispatch dispatch) { dispatches_.push_back(std::move(dispatch)); }
  // Data that the shaders read beside the model's operands.
  Place constant(std::vector<uint8_t> bytes);

  // A word that a shader sets to 1 if an execution must fail: an index is out of range.
  Place faultWord();
  const std::optional<Place>& usedFaultWord() const { return faultWord_; }

  // The memory for constants and parameters, at least: places are multiples of `alignment`.
  uint64_t bytes(size_t alignment) const;

  std::span<const Dispatch> dispatches() const { return dispatches_; }
  std::span<const std::vector<uint8_t>> constants() const { return constants_; }

 private:
  size_t operands_;
  std::vector<Dispatch> dispatches_;
  std::vector<std::vector<uint8_t>> constants_;
  std::optional<Place> faultWord_;
};

// Adds the dispatches of one operation, or says why the device cannot compute it.
using Kernel = Status (*)(const Site& site, Recording& recording);

}  // namespace halyard::vulkandriver

// Recording: the dispatches of a model, as kernels describe them before memory has places.
// Thread safety: belongs to one thread. Ownership: owns its constants.
#pragma once

#include <cstdint>
#include <functional>
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

// quickQuotient of shaders/quads.glsl is exact for smaller numbers.
inline constexpr size_t kMostItems = size_t{1} << 22;

// Mesa's devices that compute on the processor leave all loops of a work item after 65,535 rounds
// together, and results are then wrong. The end of a loop counts as one more round.
inline constexpr size_t kMostRounds = 65000;
// BAD_DATA for more.
Status checkRounds(uint64_t rounds);

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

// Data that the shaders read beside the model's operands.
struct AddedConstant {
  size_t bytes;
  std::function<void(std::span<uint8_t>)> write;  // all of it; null for zeros
};

class Recording {
 public:
  // `operands`: of the model.
  explicit Recording(size_t operands, const ShaderForms& forms = {})
      : operands_(operands), forms_(forms), used_(operands) {}

  const ShaderForms& forms() const { return forms_; }
  // float32 may be computed as float16.
  void setRelaxed(bool isRelaxed) { isRelaxed_ = isRelaxed; }
  bool isRelaxed() const { return isRelaxed_; }
  // The dispatches and scratch memory that follow belong to another operation.
  void beginOperation();

  void add(Dispatch dispatch);
  // Whether a dispatch reads or writes the operand. Packed filters leave the model's unused.
  bool uses(uint32_t operand) const { return used_[operand]; }
  Place constant(std::vector<uint8_t> bytes);
  // `write` is called when the model is prepared; the model's constants still exist then.
  Place constant(size_t bytes, std::function<void(std::span<uint8_t>)> write);
  Place zeros(size_t bytes) { return constant(bytes, nullptr); }
  // Memory that the dispatches of one operation write and then read. It is shared with others.
  Place scratch(size_t bytes);

  // The memory that kernels may take to be faster.
  void setSpare(uint64_t bytes) { spare_ = bytes; }
  // Whether there is so much for constants and for scratch memory. It is taken then.
  bool takeSpare(uint64_t constants, uint64_t scratch);
  bool wantsSpare() const { return wantsSpare_; }  // some were refused

  // A word that a shader sets to the reason if an execution must fail, such as an index that is out
  // of range.
  Place faultWord();
  const std::optional<Place>& usedFaultWord() const { return faultWord_; }

  // The memory for constants and parameters, at least: places are multiples of `alignment`.
  uint64_t bytes(size_t alignment) const;

  std::span<const Dispatch> dispatches() const { return dispatches_; }
  // For each operation, the number of dispatches before it.
  std::span<const size_t> operationBegins() const { return operationBegins_; }
  std::span<const AddedConstant> constants() const { return constants_; }

 private:
  size_t operands_;
  ShaderForms forms_;
  bool isRelaxed_ = false;
  std::vector<bool> used_;  // by operand
  std::vector<Dispatch> dispatches_;
  std::vector<size_t> operationBegins_;
  std::vector<AddedConstant> constants_;
  std::vector<Place> scratch_;
  size_t scratchOfOperation_ = 0;
  uint64_t spare_ = 0;
  uint64_t spareScratch_ = 0;  // taken
  bool wantsSpare_ = false;
  std::optional<Place> faultWord_;
};

// Adds the dispatches of one operation, or says why the device cannot compute it.
using Kernel = Status (*)(const Site& site, Recording& recording);

}  // namespace halyard::vulkandriver

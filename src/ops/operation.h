// OperationDefinition: the complete description of one operation: signature, shape inference and
// the reference kernel. OperationContext: the operands of one run of it.
// Thread safety: definitions are immutable; a context belongs to one thread, but its parallelFor
// may spread a kernel's work.
// Ownership: a context borrows operands and services.
#pragma once

#include <any>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>

#include "base/made_once.h"
#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "model/signature.h"

namespace halyard::ops {

// One operand at execution. The dims are real (0 is zero-sized). `data` is null for an omitted
// operand, for a value that is not known yet (inference before execution) and for an output in
// inference.
struct Tensor {
  OperandType type = OperandType::FLOAT32;
  Shape dims;
  float scale = 0;
  int32_t zeroPoint = 0;
  const SymmPerChannelQuantParams* channelQuant = nullptr;
  void* data = nullptr;
  bool omitted = false;

  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
  template <typename T>
  T* as() {
    return static_cast<T*>(data);
  }
  size_t elementCount() const {
    size_t count = 1;
    for (uint32_t d : dims) count *= d;
    return count;
  }
  size_t rank() const { return dims.size(); }
};

// The services for a kernel besides its operands.
class KernelServices {
 public:
  virtual ~KernelServices() = default;
  // Calls body(begin, end) on disjoint ranges that cover [0, count). Each is at least `grain` long,
  // except the last. Returns when all are done. Runs in the calling thread if that is as good.
  virtual void parallelFor(size_t count, size_t grain,
                           const std::function<void(size_t begin, size_t end)>& body) = 0;
  // The same, but each thread goes through its part from the end. It finds data there that the last
  // parallelFor of this count and grain has left in its cache. The body should do so with its
  // range.
  virtual void parallelForBackward(size_t count, size_t grain,
                                   const std::function<void(size_t begin, size_t end)>& body) {
    parallelFor(count, grain, body);
  }
  // Returns uninitialised memory, aligned to 64 bytes, that lives until the kernel returns. Throws
  // std::bad_alloc like all allocation. The code that runs the model turns it into OUT_OF_MEMORY.
  virtual void* scratch(size_t bytes) = 0;
};

class OperationContext {
 public:
  OperationContext(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                   KernelServices* services)
      : inputs_(inputs), outputs_(outputs), services_(services) {}

  size_t inputCount() const { return inputs_.size(); }
  size_t outputCount() const { return outputs_.size(); }
  const Tensor& input(size_t i) const { return inputs_[i]; }
  Tensor& output(size_t i) { return outputs_[i]; }
  // Returns whether the input is in the list and not omitted.
  bool hasInput(size_t i) const { return i < inputs_.size() && !inputs_[i].omitted; }

  // Reads the value of a scalar input. Returns INCOMPLETE when it is not known yet; shape inference
  // returns that, too.
  Status read(size_t i, int32_t* value) const;
  Status read(size_t i, bool* value) const;
  // Reads FLOAT32 or FLOAT16, converted to float.
  Status read(size_t i, float* value) const;
  // As read, but `value` keeps its default if the trailing input i is missing.
  template <typename T>
  Status readOptional(size_t i, T* value) const {
    return hasInput(i) ? read(i, value) : okStatus();
  }
  // Reads all elements of a TENSOR_INT32 input. Returns INCOMPLETE when they are not known yet.
  Status readInts(size_t i, std::span<const int32_t>* values) const;

  // Returns whether one of the functions above was asked for a value that is not known yet. With
  // the value, inference may have another result.
  bool hasMissedValue() const { return hasMissedValue_; }

  // Intermediate results of inference for the kernel, so that it need not compute them again. Empty
  // for a kernel whose shapes were inferred in another context.
  std::any& findings() { return findings_; }

  // For kernels only (inference has no services).
  KernelServices& services() { return *services_; }
  template <typename T>
  T* scratch(size_t count) {
    return static_cast<T*>(services_->scratch(count * sizeof(T)));
  }

 private:
  // Returns INCOMPLETE for a value that is not known yet.
  Status checkValue(size_t i, std::initializer_list<OperandType> types) const;

  std::span<const Tensor> inputs_;
  std::span<Tensor> outputs_;
  KernelServices* services_;
  mutable bool hasMissedValue_ = false;
  std::any findings_;
};

// Operations that run other subgraphs. The executor runs these operations; they have neither infer
// nor reference.
enum class ControlFlow : uint8_t {
  NONE,
  BRANCH,  // inputs: condition, then-model, else-model, values for the chosen model
  LOOP,    // inputs: condition model, body model, values
};

// The allowed difference of results from the reference's (src/accuracy has the figures).
enum class Precision : uint8_t {
  EXACT,        // elements are moved, selected or compared
  ROUNDED,      // each result element is a rounded sum, product, ... of one element of each input
  APPROXIMATE,  // functions that devices approximate, averages, interpolation
  SUMS,         // sums of many products, in any order
};

struct OperationDefinition {
  OperationType type;
  Signature signature;
  // Sets the dims of every output from the inputs. Checks everything that can be checked before
  // computing: shapes, values of scalars, quantisation relations between inputs and outputs. An
  // output has its declared type, scale and zeroPoint. Returns INCOMPLETE when it depends on a
  // value that is not known yet (a null `data` of an input that is not omitted). Null for
  // control flow.
  Status (*infer)(OperationContext& context) = nullptr;
  // Computes all outputs, whose dims come from infer and whose data is allocated. Never called with
  // a zero-sized output. Null for control flow.
  Status (*reference)(OperationContext& context) = nullptr;
  // Whether a zero-sized input is legal. infer then gives the shapes, and no kernel runs when all
  // outputs are zero-sized.
  bool acceptsZeroSized = false;
  // The kernel gets TENSOR_FLOAT16 operands as TENSOR_FLOAT32, and its results are rounded once, so
  // that `reference` needs no float16 code. False for kernels that only move bytes.
  bool float16AsFloat32 = true;
  ControlFlow controlFlow = ControlFlow::NONE;
  // Returns the approximate number of added products, from the shapes alone, for estimates of the
  // time. Null if the time depends on the size of inputs and outputs. No dimension is 0; omitted
  // inputs are marked.
  double (*work)(std::span<const Tensor> inputs, std::span<const Tensor> outputs) = nullptr;
  // Set if precisionOf cannot derive it.
  std::optional<Precision> precision = std::nullopt;
  // Results are random numbers, so two devices need not agree.
  bool isRandom = false;
};

// Returns the definition's precision if set; else SUMS with `work`, EXACT for kernels that only
// move bytes, and otherwise APPROXIMATE.
Precision precisionOf(const OperationDefinition& definition);

// Returns the definition of an operation of the API or of kTfliteExtension; nullptr for other
// extensions, OEM and unknown operations.
const OperationDefinition* definitionOf(OperationType type);

// Checks that all inputs required by the signature have values, checks the zero-size rule, then
// infers.
Status inferShapes(const OperationDefinition& definition, OperationContext& context);
// Runs the reference kernel, with the definition's float16 conversion. The shapes must be inferred.
Status runReference(const OperationDefinition& definition, OperationContext& context);

}  // namespace halyard::ops

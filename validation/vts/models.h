// The built-in models of the HAL suite, and requests with memory of their own.
// Thread safety: pure functions; a RequestMemory belongs to one thread.
// Ownership: results own their data and memory.
#pragma once

#include <span>
#include <vector>

#include "conformance/vectors.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/model.h"

namespace halyard::validation {

// A type of the tensors of the built-in models.
struct Kind {
  OperandType type = OperandType::TENSOR_FLOAT32;
  float scale = 0;
  int32_t zeroPoint = 0;
};
inline constexpr Kind kFloat = {OperandType::TENSOR_FLOAT32, 0, 0};
// Sums below 256 are exact: 1 + 2 is 3.
inline constexpr Kind kQuant8 = {OperandType::TENSOR_QUANT8_ASYMM, 1, 0};

// out[n] = a[n] + b[n]. With n = 0 the size is open. Operands: a, b, activation, out.
Model addModel(uint32_t n, Kind kind = kFloat);
// A chain of `length` additions of the same constant 1, or of multiplications by it, of 1,024
// elements. Its results identify the compilation.
Model chainModel(bool multiplies, unsigned length, Kind kind = kFloat);
// WHILE (true) x = x: an endless loop over one float.
Model endlessModel();

// `count` elements of `value` in the type of `kind`.
std::vector<uint8_t> filled(Kind kind, size_t count, unsigned value);

// The inputs and outputs of one execution in shared memory. A margin around each output must not
// change.
class RequestMemory {
 public:
  // `outputBytes`: the size of each output, at least one byte.
  static Result<RequestMemory> make(std::span<const conformance::VectorInput> inputs,
                                    std::span<const size_t> outputBytes);
  static Result<RequestMemory> make(const std::vector<std::vector<uint8_t>>& inputs,
                                    const std::vector<size_t>& outputBytes);

  const hal::Request& request() const { return request_; }
  hal::Request& mutableRequest() { return request_; }
  // The bytes at the place of output `i`.
  std::vector<uint8_t> output(size_t i, size_t bytes) const;
  // Overwrites all outputs with a fixed pattern.
  void clearOutputs() const;
  // OP_FAILED when an input or a margin has changed.
  Status checkUntouched() const;

 private:
  struct Place {
    size_t offset;
    size_t bytes;
  };
  hal::Request request_;
  SharedMemoryPtr inputs_;
  SharedMemoryPtr outputs_;
  std::vector<uint8_t> given_;
  std::vector<Place> places_;  // of outputs
};

}  // namespace halyard::validation

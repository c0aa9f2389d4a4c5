// Access to the constants of a model, wherever their bytes lie. Thread safety: may be called from
// several threads at once for one model. Ownership: results point into the model or into a mapping
// that its pools keep. They are valid as long as the Model and its pools live. So a prepared model
// keeps its model.
#pragma once

#include <cstring>
#include <span>
#include <type_traits>

#include "halyard/driver/export.h"
#include "halyard/driver/model.h"

namespace halyard {

// CONSTANT_COPY or CONSTANT_REFERENCE: the operand's value is part of the model.
inline bool isConstant(const Operand& operand) {
  return operand.lifetime == Lifetime::CONSTANT_COPY ||
         operand.lifetime == Lifetime::CONSTANT_REFERENCE;
}

// The bytes of a constant operand of the model, in host byte order; empty for one of no elements.
// A pool is mapped at the first call that needs it. BAD_DATA when the operand is no constant or its
// location lies outside of the model's data; UNMAPPABLE when its pool cannot be mapped or read.
//
// In a driver's process the bytes are aligned to the operand's elements, and scalars and small
// tensors are private copies. A large tensor may lie in memory that the client still has mapped.
// Copy a value that decides where the driver reads or writes before you check it. A CpuAccess must
// live while the bytes of a dma-buf's pool are read.
HALYARD_EXPORT Result<std::span<const uint8_t>> constantData(const Model& model,
                                                             const Operand& operand);

// The value of a constant scalar, such as an activation function's code. BAD_DATA when the operand
// is not a constant of exactly sizeof(T) bytes.
template <typename T>
Result<T> constantScalar(const Model& model, const Operand& operand) {
  static_assert(std::is_trivially_copyable_v<T>);
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, constantData(model, operand));
  if (bytes.size() != sizeof(T)) {
    return badData("{} has {} bytes, expected {}", operandText(operand), bytes.size(), sizeof(T));
  }
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace halyard

// BufferSpec: what a buffer has been asked for: the operand that it stands for and its roles.
// Thread safety: plain data, not changed once made. Ownership: owns its tables.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <set>
#include <span>

#include "halyard/driver/device.h"
#include "model/shape_agreement.h"

namespace halyard::hal {

struct SessionState;

// One input or output of one prepared model, by the number that the session has given the model:
// numbers are not used again, so that a role ends with its prepared model.
struct BufferUse {
  uint64_t model = 0;
  bool isInput = false;
  uint32_t index = 0;
  auto operator<=>(const BufferUse&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct BufferSpec {
  OperandType type = OperandType::TENSOR_FLOAT32;
  // What the request and all roles say together; what none of them says is unknown.
  Shape dimensions;
  std::set<BufferUse> uses;

  bool isScalar() const { return isScalarType(type); }
  // True when the buffer always has the same size.
  bool isFixed() const { return isScalar() || knownElementCount(dimensions).has_value(); }
};

// The checks of IDevice::allocate. BAD_DATA for what the caller has done wrong, OP_FAILED for types
// whose size nobody here knows.
Result<BufferSpec> makeBufferSpec(const SessionState& session, const Shape& dimensions,
                                  std::span<const std::shared_ptr<PreparedModel>> preparedModels,
                                  std::span<const BufferRole> inputRoles,
                                  std::span<const BufferRole> outputRoles);

}  // namespace halyard::hal

// BufferSpec: the requested properties of a buffer: its operand and its roles.
// Thread safety: not changed after construction. Ownership: owns its tables.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "halyard/driver/device.h"
#include "model/shape_agreement.h"

namespace halyard::hal {

struct SessionState;

// One input or output of one prepared model. The session numbers its models and does not reuse a
// number, so a role ends with its prepared model.
struct BufferUse {
  uint64_t model = 0;
  bool isInput = false;
  uint32_t index = 0;
  auto operator<=>(const BufferUse&) const = default;  // NOLINT(modernize-use-nullptr)
};

// The same for the driver.
struct DriverRole {
  std::weak_ptr<PreparedModel> preparedModel;  // the driver's object; it may end before the buffer
  bool isInput = false;
  uint32_t index = 0;
};

struct BufferSpec {
  OperandType type = OperandType::TENSOR_FLOAT32;
  // The combined dimensions of the request and all roles. A dimension that they leave open is
  // unknown.
  Shape dimensions;
  std::set<BufferUse> uses;
  std::vector<DriverRole> driverRoles;

  bool isScalar() const { return isScalarType(type); }
  // True when the buffer always has the same size.
  bool isFixed() const { return isScalar() || knownElementCount(dimensions).has_value(); }
  // The order for the driver.
  MemoryOrder order(size_t bytes) const;
};

// Makes the checks of IDevice::allocate. BAD_DATA for errors of the caller. OP_FAILED for types of
// unknown size.
Result<BufferSpec> makeBufferSpec(const SessionState& session, const Shape& dimensions,
                                  std::span<const std::shared_ptr<PreparedModel>> preparedModels,
                                  std::span<const BufferRole> inputRoles,
                                  std::span<const BufferRole> outputRoles);

}  // namespace halyard::hal

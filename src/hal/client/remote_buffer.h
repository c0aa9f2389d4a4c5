// RemoteBuffer: a buffer in a driver's process, and how one comes to be.
// Thread safety: as hal::Buffer. Calls block their thread.
// Ownership: keeps its driver running; its destruction frees the buffer in the driver.
#pragma once

#include <memory>
#include <span>

#include "hal/client/driver_connection.h"
#include "halyard/driver/device.h"

namespace halyard::hal {

// The arguments of Device::allocate.
struct BufferOrder {
  const Shape& dimensions;
  std::span<const std::shared_ptr<PreparedModel>> preparedModels;
  std::span<const BufferRole> inputRoles;
  std::span<const BufferRole> outputRoles;
};

// `driver`: the device's running driver; may be null. BAD_DATA when a prepared model is null, of
// another device, or of a process of the driver's that has ended, or when there is none. What else
// can be wrong the driver says. OP_FAILED when it reports success without a buffer and a token.
Result<std::unique_ptr<Buffer>> allocateRemotely(const std::shared_ptr<DriverConnection>& driver,
                                                 const BufferOrder& order);

}  // namespace halyard::hal

// RemoteBuffer: a buffer in a driver's process, and its allocation.
// Thread safety: as hal::Buffer. Calls block their thread.
// Ownership: keeps its driver running. Its destruction frees the buffer in the driver.
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

// `driver`: the device's running driver; may be null. BAD_DATA without prepared models, or when one
// is null, of another device, or of a driver's process that has ended. Other errors are the
// driver's. OP_FAILED when it reports success without a buffer or without a token.
Result<std::unique_ptr<Buffer>> allocateRemotely(const std::shared_ptr<DriverConnection>& driver,
                                                 const BufferOrder& order);

}  // namespace halyard::hal

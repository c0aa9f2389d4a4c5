// DeviceMemory: memory of a driver's own that holds the contents of one buffer of a client. The
// contents stay on the device between executions. Device::allocateMemory makes it.
// Thread safety: several reads may run at once. A write, or an execution with the memory as an
// output, runs alone. The session around the driver takes care of this.
// Ownership: shared by the session and by requests that name it. The last reference frees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "halyard/driver/export.h"
#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

// The driver derives from it. The session has already checked roles, sizes and dimensions, and
// whether the memory has contents. `dimensions` are those of the contents: all are known. The bytes
// outside of the device are always those of the operand in NNAPI's dense form. The form on the
// device is up to the driver.
class HALYARD_EXPORT DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Copies the contents out. `destination` has exactly their size. Another process may be able to
  // see it at once, and may change it.
  virtual Status read(std::span<uint8_t> destination, const Shape& dimensions) = 0;
  // Copies new contents in. Another process may be able to change `source` meanwhile.
  virtual Status write(std::span<const uint8_t> source, const Shape& dimensions) = 0;
};
using DeviceMemoryPtr = std::shared_ptr<DeviceMemory>;

}  // namespace halyard::hal

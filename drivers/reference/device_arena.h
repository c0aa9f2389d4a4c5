// The memory of a reference driver that imitates a device with memory of its own. Only the driver
// can reach it: no other process, and no mapping.
// Thread safety: ArenaMemory as hal::DeviceMemory; computeInArena is a pure function.
// Ownership: ArenaMemory owns its bytes.
#pragma once

#include <functional>
#include <memory>

#include "halyard/driver/device.h"

namespace halyard::drivers {

class ArenaMemory : public hal::DeviceMemory {
 public:
  explicit ArenaMemory(size_t bytes);  // zeros

  Status read(std::span<uint8_t> destination, const Shape& dimensions) override;
  Status write(std::span<const uint8_t> source, const Shape& dimensions) override;
  std::span<uint8_t> bytes() { return {bytes_.get(), size_}; }

 private:
  const size_t size_;
  const std::unique_ptr<uint8_t[]> bytes_;
};

// Calls `run` with a request whose arguments are all in the arena. Copies inputs there and outputs
// back, and counts these bytes in ExecutionResult::copiedBytes. It does not copy buffers, and
// arguments of the kinds in `imports`.
hal::ExecutionResult computeInArena(
    const Model& model, const hal::Request& request, uint32_t imports,
    const std::function<hal::ExecutionResult(const hal::Request&)>& run);

}  // namespace halyard::drivers

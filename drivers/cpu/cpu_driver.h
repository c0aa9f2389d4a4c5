// The CPU driver's device, halyard-cpu: all operations of the runtime's CPU device, faster.
// Thread safety: as hal::Device.
// Ownership: owns its thread pools, shared with its models.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "halyard/driver/device.h"

namespace halyard::cpudriver {

// The process in which the driver computes.
enum class HostProcess : uint8_t {
  APPLICATION,  // the caller's thread is one of the driver's
  OWN,          // a client in another process polls for results meanwhile
};

// Arguments: --threads=N, once at most. A model uses at most so many threads at once; the default
// is the number of processors that the process may use. BAD_DATA for other arguments.
Result<std::shared_ptr<hal::Device>> makeCpuDriver(std::span<const std::string> arguments = {},
                                                   HostProcess process = HostProcess::APPLICATION);

}  // namespace halyard::cpudriver

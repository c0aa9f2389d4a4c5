// The CPU driver's device, halyard-cpu: everything that the runtime's CPU device has, faster.
// Thread safety: as hal::Device. Ownership: owns its thread pools, shared with its models.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "halyard/driver/device.h"

namespace halyard::cpudriver {

// Arguments: --threads=N, how many threads a model may use at once (by default, as many as there
// are processors that the process may use); --cache=FOLDER, where the store of cached compilations
// is;
// --cache-all: also those that are compiled too quickly for caching to pay; --no-cache. BAD_DATA
// for others. Without a place for the store, which is a warning, nothing is cached.
Result<std::shared_ptr<hal::Device>> makeCpuDriver(std::span<const std::string> arguments = {});

}  // namespace halyard::cpudriver

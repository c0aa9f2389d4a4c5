// The CPU driver's device, halyard-cpu: everything that the runtime's CPU device has, faster.
// Thread safety: as hal::Device. Ownership: owns its thread pools, shared with its models.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "halyard/driver/device.h"
#include "tuning.h"

namespace halyard::cpudriver {

// Arguments: --threads=N, how many threads a model may use at once (by default, as many as there
// are processors that the process may use); --cache=FOLDER, where the store of cached compilations
// is; --cache-all: also those that are compiled too quickly for caching to pay; --no-cache;
// --no-tuning: nothing is measured for SUSTAINED_SPEED. BAD_DATA for others. Without a place for
// the store, which is a warning, nothing is cached.
Result<std::shared_ptr<hal::Device>> makeCpuDriver(std::span<const std::string> arguments = {});

// The same, for tests and benchmarks; is told of all that is measured, by the compiling thread.
using TuningWatcher = std::function<void(const Tuning&)>;
Result<std::shared_ptr<hal::Device>> makeWatchedCpuDriver(std::span<const std::string> arguments,
                                                          TuningWatcher watcher);

}  // namespace halyard::cpudriver

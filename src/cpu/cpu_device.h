// CpuDevice: the executor as an in-process device. It is the runtime's own fallback
// "nnapi-reference", and the core of the reference driver.
// Thread safety: as hal::Device.
// Ownership: owns its thread pool.
#pragma once

#include <memory>
#include <string>

#include "base/thread_pool.h"
#include "cpu/executor.h"
#include "cpu/kernel_patch.h"
#include "halyard/driver/device.h"

namespace halyard::cpu {

// `threads`: the number of threads that a kernel may use at once; 0: the number of usable
// processors. `reportsTiming`: whether executions report times on request. A driver should; the
// runtime's own device does not. `patch`, if any, runs the kernels.
std::shared_ptr<hal::Device> makeCpuDevice(hal::DeviceInfo info, unsigned threads,
                                           bool reportsTiming = false,
                                           std::shared_ptr<const KernelPatch> patch = nullptr);
// Returns a model that is prepared for this device. Other devices use it to run models on the
// executor. `threads`: borrowed by `executor`.
std::shared_ptr<hal::PreparedModel> makeCpuPreparedModel(std::shared_ptr<const Model> model,
                                                         std::shared_ptr<ThreadPool> threads,
                                                         std::shared_ptr<Executor> executor,
                                                         bool reportsTiming);
// Returns the description of the runtime's own CPU device: name nnapi-reference, all figures 1.
hal::DeviceInfo cpuDeviceInfo();

}  // namespace halyard::cpu

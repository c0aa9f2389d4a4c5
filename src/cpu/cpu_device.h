// CpuDevice: the executor as an in-process device: the runtime's own fallback "nnapi-reference",
// and the body of the reference driver. Thread safety: as hal::Device. Ownership: owns its thread
// pool.
#pragma once

#include <memory>
#include <string>

#include "base/thread_pool.h"
#include "cpu/executor.h"
#include "cpu/kernel_patch.h"
#include "halyard/driver/device.h"

namespace halyard::cpu {

// `threads`: how many threads a kernel may use at once; 0 takes the number of usable processors.
// `reportsTiming`: whether executions are timed when asked. A driver should; the runtime's own
// device does not. `patch`, if any, runs the kernels.
std::shared_ptr<hal::Device> makeCpuDevice(hal::DeviceInfo info, unsigned threads,
                                           bool reportsTiming = false,
                                           std::shared_ptr<const KernelPatch> patch = nullptr);
// A model as that device has it prepared, for other devices that leave models to the executor.
// `threads`: what `executor` borrows.
std::shared_ptr<hal::PreparedModel> makeCpuPreparedModel(std::shared_ptr<const Model> model,
                                                         std::shared_ptr<ThreadPool> threads,
                                                         std::shared_ptr<Executor> executor,
                                                         bool reportsTiming);
// What the runtime's own CPU device says of itself: name nnapi-reference, all figures 1.
hal::DeviceInfo cpuDeviceInfo();

}  // namespace halyard::cpu

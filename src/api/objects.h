// The structs behind the opaque pointers of the C API, and the code that all entry points share.
// Thread safety: that of the runtime's classes.
// Ownership: each struct owns its object. A forked child gets only errors for the objects of its
// parent. It does not destroy them.
#pragma once

#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>

#include <memory>
#include <utility>

#include "api/last_error.h"
#include "base/process_generation.h"
#include "halyard/driver/status.h"
#include "halyard/driver/trace.h"
#include "runtime/compile/compilation.h"
#include "runtime/compile/memory_descriptor.h"
#include "runtime/device/device_manager.h"
#include "runtime/execute/burst.h"
#include "runtime/execute/event.h"
#include "runtime/execute/execution.h"
#include "runtime/memory/memory.h"
#include "runtime/model/model_builder.h"

struct ANeuralNetworksModel {
  halyard::runtime::ModelBuilder impl;
  halyard::ProcessStamp madeIn = {};
};
struct ANeuralNetworksCompilation {
  std::unique_ptr<halyard::runtime::Compilation> impl;
  halyard::ProcessStamp madeIn = {};
};
struct ANeuralNetworksExecution {
  halyard::runtime::Execution impl;
  halyard::ProcessStamp madeIn = {};
};
struct ANeuralNetworksBurst {
  halyard::runtime::Burst impl;
  halyard::ProcessStamp madeIn = {};
};
struct ANeuralNetworksEvent {
  std::unique_ptr<halyard::runtime::Event> impl;
  halyard::ProcessStamp madeIn = {};
};
struct ANeuralNetworksMemory {
  std::unique_ptr<halyard::runtime::Memory> impl;
  halyard::ProcessStamp madeIn = {};
};
struct ANeuralNetworksMemoryDesc {
  halyard::runtime::MemoryDescriptor impl;
  halyard::ProcessStamp madeIn = {};
};

namespace halyard::api {

// The devices of the process. The first call searches for them. A forked child searches again. They
// are never destroyed, because other threads may still compute at exit. Drivers end when their
// sockets close.
runtime::DeviceManager& deviceManager();

// An ANeuralNetworksDevice* is the address of a runtime::Device.
inline const ANeuralNetworksDevice* toApi(const runtime::Device* device) {
  return reinterpret_cast<const ANeuralNetworksDevice*>(device);
}

// Whether the pointer is not null. If it points to one of the structs above, the object must be of
// this process.
template <typename T>
Status checkUsable(const T* pointer, const char* name) {
  if (pointer == nullptr) return unexpectedNull("{} is null", name);
  if constexpr (requires { pointer->madeIn; }) return pointer->madeIn.check(name);
  return okStatus();
}

// Implements the functions ANeuralNetworks*_free. An object of a parent process is left unchanged.
// Its threads and drivers belong to the parent.
template <typename T>
void freeObject(T* object) {
  if (object != nullptr && object->madeIn.isOfThisProcess()) delete object;
}

// BAD_DATA for a pointer with this name that does not come from ANeuralNetworks_getDevice in this
// process.
inline Status noDevice(std::string_view name) {
  return badData("{} is no device of this process{}", name,
                 processGeneration() == 0 ? "" : "; after fork() devices are looked for again");
}

// The device of the pointer. Checks that it is not null, and that it is one of this process.
Result<const runtime::Device*> checkDevice(const ANeuralNetworksDevice* device);

// Checks the pointers of an ANeuralNetworksOperandType and copies it.
Result<runtime::ArgumentType> readOperandType(const ANeuralNetworksOperandType* type);

// The devices of a list. Checks for null entries, duplicates and unknown devices, in the order of
// the API.
Result<std::vector<const runtime::Device*>> readDevices(const ANeuralNetworksDevice* const* devices,
                                                        uint32_t count);

// Runs the body of the entry point `function`, stores its error text for the thread and returns its
// code. An allocation failure becomes OUT_OF_MEMORY. No exception reaches the C caller.
template <typename Body>
int entryPoint(const char* function, Body&& body) {
  Status status;
  try {
    status = std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    status = Status(ResultCode::OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    status = opFailed("internal error: {}", error.what());
  }
  return setLastError(function, status);
}

// The same for an entry point that has a mark in traces, as in NNAPI's table of marks.
template <typename Body>
int entryPoint(const char* function, trace::Phase phase, Body&& body) {
  const trace::Scope mark(trace::Layer::RUNTIME, phase, function);
  return entryPoint(function, std::forward<Body>(body));
}

}  // namespace halyard::api

// Returns an error also for an object of a parent process.
#define HALYARD_RETURN_IF_NULL(pointer) \
  HALYARD_RETURN_IF_ERROR(::halyard::api::checkUsable(pointer, #pointer))

// The structs behind the C API's opaque pointers, and what every entry point does around its body.
// Thread safety: as the runtime's classes. Ownership: each struct owns its object. A child of a
// fork gets nothing but errors for its parent's objects, and does not destroy them.
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

// The devices of the process, found at the first call; a child of a fork finds its own. Lives as
// long as the process: drivers end with their sockets, and nothing has to run at exit, when other
// threads may still compute.
runtime::DeviceManager& deviceManager();

// An ANeuralNetworksDevice* is the address of a runtime::Device.
inline const ANeuralNetworksDevice* toApi(const runtime::Device* device) {
  return reinterpret_cast<const ANeuralNetworksDevice*>(device);
}

// Whether something is there, and of this process if it is one of the structs above.
template <typename T>
Status checkUsable(const T* pointer, const char* name) {
  if (pointer == nullptr) return unexpectedNull("{} is null", name);
  if constexpr (requires { pointer->madeIn; }) return pointer->madeIn.check(name);
  return okStatus();
}

// What the functions ANeuralNetworks*_free do. An object of a parent's stays as it is: what it
// would end, and the threads that it would wait for, are the parent's.
template <typename T>
void freeObject(T* object) {
  if (object != nullptr && object->madeIn.isOfThisProcess()) delete object;
}

// BAD_DATA for a pointer, called `name`, that no ANeuralNetworks_getDevice of this process gave.
inline Status noDevice(std::string_view name) {
  return badData("{} is no device of this process{}", name,
                 processGeneration() == 0 ? "" : "; after fork() devices are looked for again");
}

// Checks an ANeuralNetworksOperandType as far as its pointers go, and copies it.
Result<runtime::ArgumentType> readOperandType(const ANeuralNetworksOperandType* type);

// The devices of a list, checked for null entries, duplicates and strangers in the API's order.
Result<std::vector<const runtime::Device*>> readDevices(const ANeuralNetworksDevice* const* devices,
                                                        uint32_t count);

// Runs the body of the entry point `function`, keeps its error text for the thread, returns the
// code. Allocation failures become OUT_OF_MEMORY; no exception crosses into C.
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

// The same for an entry point that has a mark in traces, by NNAPI's table of marks.
template <typename Body>
int entryPoint(const char* function, trace::Phase phase, Body&& body) {
  const trace::Scope mark(trace::Layer::RUNTIME, phase, function);
  return entryPoint(function, std::forward<Body>(body));
}

}  // namespace halyard::api

// Also if it is an object of the process that this one was forked from.
#define HALYARD_RETURN_IF_NULL(pointer) \
  HALYARD_RETURN_IF_ERROR(::halyard::api::checkUsable(pointer, #pointer))

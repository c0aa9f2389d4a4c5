// The structs behind the C API's opaque pointers, and what every entry point does around its body.
// Thread safety: as the runtime's classes. Ownership: each struct owns its object.
#pragma once

#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>

#include <memory>
#include <utility>

#include "api/last_error.h"
#include "halyard/driver/status.h"
#include "halyard/driver/trace.h"
#include "runtime/burst.h"
#include "runtime/compilation.h"
#include "runtime/device_manager.h"
#include "runtime/event.h"
#include "runtime/execution.h"
#include "runtime/memory.h"
#include "runtime/memory_descriptor.h"
#include "runtime/model_builder.h"

struct ANeuralNetworksModel {
  halyard::runtime::ModelBuilder impl;
};
struct ANeuralNetworksCompilation {
  std::unique_ptr<halyard::runtime::Compilation> impl;
};
struct ANeuralNetworksExecution {
  halyard::runtime::Execution impl;
};
struct ANeuralNetworksBurst {
  halyard::runtime::Burst impl;
};
struct ANeuralNetworksEvent {
  std::unique_ptr<halyard::runtime::Event> impl;
};
struct ANeuralNetworksMemory {
  std::unique_ptr<halyard::runtime::Memory> impl;
};
struct ANeuralNetworksMemoryDesc {
  halyard::runtime::MemoryDescriptor impl;
};

namespace halyard::api {

// The devices of the process, found at the first call. Lives as long as the process: drivers end
// with their sockets, and nothing has to run at exit, when other threads may still compute.
runtime::DeviceManager& deviceManager();

// An ANeuralNetworksDevice* is the address of a runtime::Device.
inline const ANeuralNetworksDevice* toApi(const runtime::Device* device) {
  return reinterpret_cast<const ANeuralNetworksDevice*>(device);
}

inline Status checkNotNull(const void* pointer, const char* name) {
  return pointer == nullptr ? unexpectedNull("{} is null", name) : okStatus();
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

#define HALYARD_RETURN_IF_NULL(pointer) \
  HALYARD_RETURN_IF_ERROR(::halyard::api::checkNotNull(pointer, #pointer))

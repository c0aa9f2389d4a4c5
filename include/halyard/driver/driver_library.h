// HALYARD_DRIVER_LIBRARY: a driver as a shared object that the runtime loads into the application's
// own process, for the lowest latency; its manifest has "library". Thread safety: the factory is
// called once in a process, by any thread. A child of a fork calls it again. The child never uses
// or destroys the device of its parent's call, since the threads of that device are missing.
// Ownership: the runtime keeps the object loaded for the life of the process. Nothing is destroyed
// at exit, when calls may be under way: the object should have no static objects with destructors.
//
// Such a driver has no boundary to the application. Its faults are the application's, no sandbox
// holds it, and it can neither be killed nor started again. A driver is first of all an executable
// (driver_main.h); the same class serves both.
#pragma once

#include <memory>

#include "halyard/driver/device.h"
#include "halyard/driver/export.h"
#include "halyard/driver/trace.h"

// The C++ interface that the driver was built with: major and minor number of Halyard's version,
// and the ABI of the standard library. The runtime refuses an object with another.
#define HALYARD_DRIVER_ABI_TEXT(x) #x
#define HALYARD_DRIVER_ABI_STRING(x) HALYARD_DRIVER_ABI_TEXT(x)
#define HALYARD_DRIVER_ABI "0.3 libstdc++ c++11=" HALYARD_DRIVER_ABI_STRING(_GLIBCXX_USE_CXX11_ABI)

namespace halyard::hal {

// The object's description. `abi` is read first, and has the same place in every version.
struct HALYARD_EXPORT DriverLibrary {
  const char* abi;
  // An error's text reaches the user; exceptions must not leave.
  Result<std::shared_ptr<Device>> (*make)();
};

// The name under which the object exports its DriverLibrary.
inline constexpr const char* kDriverLibrarySymbol = "halyard_driver_library";

// Tells the object where to record its trace. Objects that are older than traces do not have it.
struct HALYARD_EXPORT DriverTrace {
  uint32_t version;  // 1
  void (*attach)(void* memory, size_t bytes);
};
inline constexpr const char* kDriverTraceSymbol = "halyard_driver_trace";

}  // namespace halyard::hal

// To be written once in a shared object, outside of all namespaces. `makeDevice`: a function, or a
// lambda without captures, that returns a Result<std::shared_ptr<Device>>.
#define HALYARD_DRIVER_LIBRARY(makeDevice)                                                      \
  extern "C" HALYARD_EXPORT const ::halyard::hal::DriverTrace halyard_driver_trace;             \
  const ::halyard::hal::DriverTrace halyard_driver_trace = {1, &::halyard::trace::attachTrace}; \
  extern "C" HALYARD_EXPORT const ::halyard::hal::DriverLibrary halyard_driver_library;         \
  const ::halyard::hal::DriverLibrary halyard_driver_library = {HALYARD_DRIVER_ABI, makeDevice}

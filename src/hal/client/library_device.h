// Drivers that their manifest has as a shared object: loaded into this process.
// Thread safety: openLibrary may be called from any thread; the device as hal::Device.
// Such a driver caches compilations as its DeviceInfo says. What it keeps to tell its own files
// from forged ones lies where it opens its CompileCache: without a folder that is the application's
// user's, as the driver has no user of its own. That is no weaker than the rest: whoever can write
// there can change the application as well, while those who can write the cache files only gain
// nothing by it.
// Ownership: the result owns the device; the object stays loaded until the process ends, as threads
// of the driver may run on.
#pragma once

#include <memory>

#include "hal/manifest/isolation_measure.h"
#include "hal/manifest/manifest.h"
#include "halyard/driver/device.h"

namespace halyard::hal {

class SessionServices;

// Loads the object and makes its device, with a ClientSession around it. Models that need more than
// the manifest's HAL version are adapted as they are for a driver in a process of its own. BAD_DATA
// naming the file: it is no driver, one for another version of Halyard (both are named), or its
// device is called otherwise than the manifest says; the driver's own error.
Result<std::shared_ptr<Device>> openLibrary(const Manifest& manifest,
                                            std::shared_ptr<SessionServices> services);

// As openLibrary, without anything around the device: the driver's own class.
Result<std::shared_ptr<Device>> loadLibrary(const Manifest& manifest);

// What `halyard devices` says about such a driver.
IsolationReport libraryIsolation();

}  // namespace halyard::hal

// Drivers whose manifest names a shared object, which is loaded into this process.
//
// Such a driver caches compilations as its DeviceInfo says. Its CompileCache keeps
// digests of the files that it saved, to detect forged files. By default the folder of the digests
// belongs to the application's user, because the driver has no user of its own. This is no weaker
// than the other protections: a process that can write to that folder can also change the
// application. A process that can only write the cache files gains nothing.
//
// Thread safety: openLibrary and loadLibrary may be called from any thread. For the device, see
// hal::Device.
// Ownership: the result owns the device. The object stays loaded until the process ends, because
// threads of the driver may still run.
#pragma once

#include <memory>

#include "hal/manifest/isolation_measure.h"
#include "hal/manifest/manifest.h"
#include "halyard/driver/device.h"

namespace halyard::hal {

class SessionServices;

// Loads the object and makes its device, with a ClientSession around it. Models are adapted to the
// manifest's HAL version, as for a driver in its own process. BAD_DATA, with the name of the file,
// in these cases:
// - The object cannot be loaded, or is not a driver.
// - It was built for another version of Halyard. The error names both.
// - The device's name is not the manifest's, or its HAL version is older.
// Otherwise the driver's own error.
Result<std::shared_ptr<Device>> openLibrary(const Manifest& manifest,
                                            std::shared_ptr<SessionServices> services);

// As openLibrary, but without a ClientSession and without adaptation of models.
Result<std::shared_ptr<Device>> loadLibrary(const Manifest& manifest);

// The report of `halyard devices` about such a driver.
IsolationReport libraryIsolation();

}  // namespace halyard::hal

// driverMain: everything that a driver's executable does beside being a device.
// Thread safety: to be called once, from main.
// Ownership: takes the device from `makeDevice`.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "halyard/driver/device.h"
#include "halyard/driver/export.h"

namespace halyard::hal {

// Makes the device. Gets the driver's own arguments (see driverMain); to be refused with BAD_DATA.
using DeviceFactory =
    std::function<Result<std::shared_ptr<Device>>(std::span<const std::string> arguments)>;

// Serves the device that `makeDevice` returns: --fd=N on the connected socket N: how Halyard starts
//   a driver. The process ends when its client goes, in the middle of a computation too. --listen
//   PATH on a Unix socket made at PATH, to any number of clients, until SIGTERM or SIGINT. With
//   systemd's socket activation, systemd passes the socket. --service MANIFEST the same with the
//   socket's path, the sandbox and the limits for clients from a manifest with "socket" (see
//   docs/isolation.md). After the device is made, and before a byte of a client is read, the
//   process gives up its unnecessary rights. These are files that the manifest does not name,
//   networks, other processes and more. Descriptors that the device has opened by then stay usable.
//   Arguments behind "--" are the driver's own: in a manifest, those of the field `arguments`.
//   Anything else prints how to use the program. Returns main's exit status: 0, 1 for a failure,
//   which is printed, or 2 for wrong arguments. `makeDevice` is called only when there is something
//   to serve.
HALYARD_EXPORT int driverMain(int argc, char** argv, const DeviceFactory& makeDevice);
// For a driver without arguments of its own: any are refused.
HALYARD_EXPORT int driverMain(int argc, char** argv,
                              const std::function<Result<std::shared_ptr<Device>>()>& makeDevice);

}  // namespace halyard::hal

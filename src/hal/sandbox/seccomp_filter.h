// The filter of system calls of a driver's process.
// Thread safety: called once.
// Ownership: none.
#pragma once

#include <string>

#include "halyard/driver/status.h"

namespace halyard::hal {

// Restricts all threads to the system calls for computing, memory, threads and existing sockets.
// Other calls fail with EPERM. Calls that no driver needs, such as tracing other processes or
// mounting, end the process. Returns a description for readers. Returns UNAVAILABLE_DEVICE when the
// kernel does not accept the filter.
Result<std::string> filterSystemCalls();

}  // namespace halyard::hal

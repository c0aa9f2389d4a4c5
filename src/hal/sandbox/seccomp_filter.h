// The filter of system calls of a driver's process.
// Thread safety: to be called once. Ownership: none.
#pragma once

#include <string>

#include "halyard/driver/status.h"

namespace halyard::hal {

// Binds all threads to the system calls that computing, memory, threads and the sockets that are
// there need. Others give EPERM; those for which no driver has a good reason, such as tracing other
// processes or mounting, end the process. Returns what was done, for people; UNAVAILABLE_DEVICE
// when the kernel does not take the filter.
Result<std::string> filterSystemCalls();

}  // namespace halyard::hal

// Sandbox: gives up the rights that a driver's process does not need.
// Thread safety: one thread calls it once, while others may run.
// Ownership: none; the changes to the process are permanent.
#pragma once

#include "hal/manifest/isolation_measure.h"
#include "hal/manifest/sandbox_settings.h"

namespace halyard::hal {

// Takes all measures that `settings` do not switch off, for all threads of the process. Returns the
// result of each, in the order of kMeasures. A measure that the kernel does not support is left
// out, and the report says so. `ownSocket`: the path of the socket that the process has created and
// removes at its end; may be empty.
//
// Some settings belong to each thread, so the call interrupts the other threads once with SIGSYS.
// If a thread blocks this signal, these measures are unavailable.
IsolationReport applySandbox(const SandboxSettings& settings, const std::string& ownSocket);

}  // namespace halyard::hal

// Sandbox: gives up what a driver's process does not need.
// Thread safety: to be called once, by one thread, while others may run.
// Ownership: nothing; the process stays as it is made here until its end.
#pragma once

#include "hal/manifest/isolation_measure.h"
#include "hal/manifest/sandbox_settings.h"

namespace halyard::hal {

// Takes all measures that `settings` do not switch off, for all threads of the process, and says
// what became of each, in the order of kMeasures. A measure that the kernel does not know is left
// out, and reported so. `ownSocket`: the path of the socket that the process has made and is to
// remove when it ends; may be empty.
//
// Other threads are interrupted once, by SIGSYS, for what the kernel keeps for each thread; one
// that blocks this signal makes those measures unavailable.
IsolationReport applySandbox(const SandboxSettings& settings, const std::string& ownSocket);

}  // namespace halyard::hal

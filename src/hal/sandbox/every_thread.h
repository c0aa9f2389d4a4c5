// onEveryThread: runs a function in each thread of the process.
// Thread safety: one call at a time. Ownership: none.
#pragma once

#include <string>

#include "halyard/driver/status.h"

namespace halyard::hal {

// Calls `action` in every other thread, through a signal (SIGSYS), and then in this one. Threads
// that start meanwhile are included. `action` returns 0 for success. It may do only what a signal
// handler may do; sanitizers do not check it there. Returns OP_FAILED with the thread if it did not
// take the signal within two seconds, or if its action did not return 0. The error has the returned
// value.
Status onEveryThread(int (*action)(void* argument), void* argument);

}  // namespace halyard::hal

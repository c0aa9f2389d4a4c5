// onEveryThread: runs a function in each thread of the process.
// Thread safety: one call at a time. Ownership: none.
#pragma once

#include <string>

#include "halyard/driver/status.h"

namespace halyard::hal {

// Calls `action` in every other thread, by a signal (SIGSYS), and then in this one. It returns 0
// for success, and may do only what a signal handler may: no sanitizer looks at it there. Threads
// that are started meanwhile get it too. OP_FAILED naming a thread that did not take the signal
// within two seconds, or for which the action did not return 0, and what it returned.
Status onEveryThread(int (*action)(void* argument), void* argument);

}  // namespace halyard::hal

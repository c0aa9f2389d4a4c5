// The last error of each thread: what halyard_lastErrorText() tells.
// Thread safety: every thread has its own. Ownership: the text lives until the thread's next call.
#pragma once

#include "halyard/driver/status.h"

namespace halyard::api {

// Remembers the outcome of `function` for this thread and returns its result code. Also makes the
// library known to libhalyard.so, once.
int setLastError(const char* function, const Status& status);
// Makes the library known to libhalyard.so; setLastError does so by itself.
void registerImplementation();

}  // namespace halyard::api

// The last error of each thread, for halyard_lastErrorText().
// Thread safety: each thread has its own error. Ownership: the text is valid until the next call in
// the thread.
#pragma once

#include "halyard/driver/status.h"

namespace halyard::api {

// Stores the outcome of `function` for this thread and returns its result code. Also registers the
// function table with libhalyard.so, once.
int setLastError(const char* function, const Status& status);
// Registers the function table with libhalyard.so. setLastError() calls it.
void registerImplementation();

}  // namespace halyard::api

// Converts an exception of driver code to a Status, so that it ends one call and not the process.
// Thread safety: a pure function.
// Ownership: none.
#pragma once

#include "halyard/driver/status.h"

namespace halyard::hal {

// To be called in a handler, for the exception that it handles. std::bad_alloc becomes
// RESOURCE_EXHAUSTED_TRANSIENT. Each other exception becomes OP_FAILED with its text.
Status statusOfException();

}  // namespace halyard::hal

// Converts an exception of driver code to a Status, so that it ends one call and not the process.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include "halyard/driver/status.h"

namespace halyard::hal {

// To be called in a handler, for the exception that it handles. std::bad_alloc becomes
// RESOURCE_EXHAUSTED_TRANSIENT. Each other exception becomes OP_FAILED with its text.
Status statusOfException();

// Calls code of a driver. The result is that of `call`, a Status or a Result, or the status of its
// exception.
template <typename Call>
auto guarded(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (...) {
    return statusOfException();
  }
}

}  // namespace halyard::hal

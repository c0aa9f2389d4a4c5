// Errors of Halyard as Python exceptions (halyard/_errors.py has the classes).
// Thread safety: call with the GIL held. Ownership: none.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "halyard/driver/status.h"

namespace halyard::python {

// Throws the exception that halyard._errors.error_for makes of the status.
[[noreturn]] void raise(const Status& status);

inline void raiseIfError(const Status& status) {
  if (!status.ok()) raise(status);
}

// The value, or the exception.
template <typename T>
T unwrap(Result<T> result) {
  if (!result.ok()) raise(result.status());
  return std::move(result).value();
}

}  // namespace halyard::python

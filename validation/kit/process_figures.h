// The resources that a process uses, from /proc.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "halyard/driver/status.h"

namespace halyard::validation {

struct ProcessFigures {
  size_t memoryBytes = 0;  // resident: its own and shared
  size_t descriptors = 0;
  size_t threads = 0;
};
// OP_FAILED when the process is gone or belongs to another user.
Result<ProcessFigures> figuresOf(pid_t process);

}  // namespace halyard::validation

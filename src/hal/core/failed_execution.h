// The result of an execution that failed.
#pragma once

#include <utility>

#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// Without shapes and times. `status` is an error.
inline ExecutionResult failed(Status status) {
  ExecutionResult result;
  result.status = std::move(status);
  return result;
}

}  // namespace halyard::hal

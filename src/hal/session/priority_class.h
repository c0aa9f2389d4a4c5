// The thread class for work of each priority.
// Thread safety: any thread. Ownership: none.
#pragma once

#include "base/thread_class.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

constexpr ThreadClass threadClassOf(Priority priority) {
  switch (priority) {
    case Priority::LOW:
      return ThreadClass::BACKGROUND;
    case Priority::HIGH:
      return ThreadClass::URGENT;
    case Priority::MEDIUM:
      break;
  }
  return ThreadClass::NORMAL;
}

}  // namespace halyard::hal

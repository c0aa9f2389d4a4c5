#include "base/processors.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace halyard {

unsigned usableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // The call fails on machines with more processors than cpu_set_t can hold.
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

void leaveProcessor() {
  const int processor = ::sched_getcpu();
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (processor < 0 || ::sched_getaffinity(0, sizeof(usable), &usable) != 0) return;
  cpu_set_t others = usable;
  CPU_CLR(processor, &others);
  // The system at once moves a thread whose current processor is not allowed.
  if (CPU_COUNT(&others) == 0 || ::sched_setaffinity(0, sizeof(others), &others) != 0) return;
  ::sched_setaffinity(0, sizeof(usable), &usable);
}

}  // namespace halyard

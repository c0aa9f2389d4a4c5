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

namespace {

// Moves the thread to one of the processors that `choose` leaves in the set of usable ones.
template <typename Choose>
void moveTo(Choose choose) {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (::sched_getaffinity(0, sizeof(usable), &usable) != 0) return;
  cpu_set_t chosen = usable;
  choose(&chosen);
  // The system at once moves a thread whose current processor is not allowed.
  if (CPU_COUNT(&chosen) == 0 || ::sched_setaffinity(0, sizeof(chosen), &chosen) != 0) return;
  ::sched_setaffinity(0, sizeof(usable), &usable);
}

}  // namespace

void leaveProcessor() {
  const int processor = ::sched_getcpu();
  if (processor < 0) return;
  moveTo([processor](cpu_set_t* set) { CPU_CLR(processor, set); });
}

void moveToProcessor(unsigned processor) {
  if (processor >= CPU_SETSIZE) return;
  moveTo([processor](cpu_set_t* set) {
    const bool isUsable = CPU_ISSET(processor, set);
    CPU_ZERO(set);
    if (isUsable) CPU_SET(processor, set);
  });
}

}  // namespace halyard

// Work that Ctrl-C interrupts. A thread without Python does the work. The caller waits, and looks
// for signals meanwhile.
// Thread safety: call with the GIL held; it is released while the caller waits.
// Ownership: interrupted work goes on in its thread. The closure must own everything that the work
// uses, or `owner` must keep it alive. `owner` is released after the work has ended.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

#include "halyard/driver/status.h"

namespace halyard::python {

// Whether Python delivers signals to this thread.
bool isMainThread();

// Does the work and returns its status. Calls tick(seconds since the start) from time to time and
// at the end, unless it is None. An exception of a signal's handler, such as KeyboardInterrupt, or
// of `tick` leaves the function at once.
Status runInterruptibly(std::function<Status()> work, nanobind::object owner,
                        const nanobind::object& tick = nanobind::none());

}  // namespace halyard::python

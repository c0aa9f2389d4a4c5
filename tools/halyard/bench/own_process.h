// Runs a measurement in a process of its own, with its own memory and drivers, and contains its
// crashes. Thread safety: none; the call forks, so the calling process must hold no driver and have
// no other thread that holds a lock. Ownership: none.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "halyard/driver/status.h"

namespace halyard::cli {

// Returns the result of `work`, which runs in a new process; the process ends afterwards.
// DEAD_OBJECT when the process ends before it answers. MISSED_DEADLINE_TRANSIENT when it exceeds
// the limit; it is killed.
Result<nlohmann::json> inOwnProcess(std::chrono::milliseconds limit,
                                    const std::function<Result<nlohmann::json>()>& work);

}  // namespace halyard::cli

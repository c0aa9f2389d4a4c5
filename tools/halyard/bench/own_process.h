// Measurements in processes of their own: with their own memory and drivers, and whose crash is
// theirs alone. Thread safety: none; the calling process has no other thread that holds a lock (it
// forks), and no driver. Ownership: none.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "halyard/driver/status.h"

namespace halyard::cli {

// What `work` gives in a new process, which ends afterwards. DEAD_OBJECT when it ends instead,
// MISSED_DEADLINE_TRANSIENT when it takes longer than the limit, and killed.
Result<nlohmann::json> inOwnProcess(std::chrono::milliseconds limit,
                                    const std::function<Result<nlohmann::json>()>& work);

}  // namespace halyard::cli

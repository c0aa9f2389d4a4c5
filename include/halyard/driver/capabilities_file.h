// A device's capability figures from JSON, as `halyard bench --capabilities --json` measures and
// writes them: an object with a member "capabilities". docs/benchmark.md describes it. Thread
// safety: pure functions. Ownership: results own their data.
#pragma once

#include <string>
#include <string_view>

#include "halyard/driver/export.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

// BAD_DATA with the place for text that is not JSON, for an unknown field in "capabilities", and
// for figures that are not above 0. Members beside "capabilities" are for people, and ignored.
HALYARD_EXPORT Result<Capabilities> parseCapabilities(std::string_view json);

// As above, of a file; errors begin with its name. A driver reads it while it makes its device,
// before its process gives up access to files.
HALYARD_EXPORT Result<Capabilities> loadCapabilities(const std::string& path);

}  // namespace halyard::hal

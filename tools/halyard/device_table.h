// Renders the document of halyard_devicesJson() as a table for users.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::cli {

// `json` as the runtime writes it:
//
//   {"devices": [{"name": "halyard-reference", "type": "CPU", "hal_version": "1.3",
//                 "version": "0.1.0", "feature_level": 30, "process_id": 4242,
//                 "manifest": "/usr/share/halyard/drivers.d/reference.json",
//                 "features": ["..."],
//                 "isolation": [{"measure": "seccomp", "state": "applied", "detail": "..."}],
//                 "capabilities": {"float32": {"exec_time": 1.0, "power_usage": 1.0},
//                                  "quant8": {...}, "relaxed": {...}}}],
//    "problems": [{"manifest": "/etc/halyard/drivers.d/x.json", "reason": "BAD_DATA: ..."}]}
//
// States are "applied", "unavailable" and "off". A field that is missing or of another type shows
// as "-". OP_FAILED when the text is not a JSON object.
Result<std::string> deviceTable(std::string_view json);

}  // namespace halyard::cli

// Files that a command is asked to write its results to.
// Thread safety: as the file system. Ownership: none.
#pragma once

#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::cli {

// Whether results could be written there, for a command to ask before it works for minutes: makes
// an empty file where there is none, and leaves the content of one that there is. BAD_DATA with the
// system's reason otherwise. An empty path is asked for by nobody, and fine.
Status checkOutputFile(const std::string& path);

// Writes the file anew; nothing with an empty path. OP_FAILED with the system's reason.
Status writeOutputFile(const std::string& path, std::string_view content);

}  // namespace halyard::cli

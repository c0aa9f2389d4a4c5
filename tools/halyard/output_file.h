// Writes the results of a command to files.
// Thread safety: as the file system. Ownership: none.
#pragma once

#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::cli {

// Checks whether a file can be written. A command calls it before long work. It creates an empty
// file where no file exists, and keeps the content of an existing file. BAD_DATA with the system's
// reason. An empty path is always accepted.
Status checkOutputFile(const std::string& path);

// Replaces the file's content; does nothing for an empty path. OP_FAILED with the system's reason.
Status writeOutputFile(const std::string& path, std::string_view content);

}  // namespace halyard::cli

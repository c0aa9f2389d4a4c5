// Folders for driver data that only the driver's user may write.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::cache {

// Returns the path of `kind` and the driver's name below $STATE_DIRECTORY (the first of several),
// $XDG_STATE_HOME/halyard or $HOME/.local/state/halyard. Creates no folder. Returns OP_FAILED when
// no variable is an absolute path.
Result<std::filesystem::path> stateFolder(std::string_view kind, std::string_view driver);

// Returns the path of `folder` without links. If the folder does not exist, the function creates it
// and its parents with mode 0700. Returns OP_FAILED when that fails, or when another user owns the
// folder. Other users lose their rights to an existing folder.
Result<std::filesystem::path> makePrivateFolder(const std::filesystem::path& folder);

}  // namespace halyard::cache

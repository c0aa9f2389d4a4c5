// Folders in which drivers keep what only they may write.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::cache {

// $STATE_DIRECTORY (the first of several), $XDG_STATE_HOME/halyard or $HOME/.local/state/halyard,
// and behind that `kind` and the driver's name; nothing is made. OP_FAILED when no variable is an
// absolute path.
Result<std::filesystem::path> stateFolder(std::string_view kind, std::string_view driver);

// The path without links of `folder`, which is made with its parents, mode 0700, when it is not
// there. OP_FAILED when that is not possible, or the folder is another user's. Others lose their
// rights to a folder that is there.
Result<std::filesystem::path> makePrivateFolder(const std::filesystem::path& folder);

}  // namespace halyard::cache

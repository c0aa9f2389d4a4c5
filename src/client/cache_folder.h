// The folder of an application's compilations.
// Thread safety: any thread. Ownership: none.
#pragma once

#include <string>

#include "halyard/driver/status.h"

namespace halyard::client {

// Makes the folder with its parents, mode 0700, unless it is there. OP_FAILED with its name, also
// when it belongs to another user, or others may write to it.
Status makeCacheFolder(const std::string& folder);

}  // namespace halyard::client

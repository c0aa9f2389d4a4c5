// The folder for the cached compilations of an application.
// Thread safety: any thread. Ownership: none.
#pragma once

#include <string>

#include "halyard/driver/status.h"

namespace halyard::client {

// Makes the folder and its parents, with mode 0700, unless they exist. OP_FAILED with the name of
// the folder when this fails. OP_FAILED also when the folder belongs to another user, or when other
// users may write to it.
Status makeCacheFolder(const std::string& folder);
// The same for a folder that must exist. Changes nothing.
Status checkCacheFolder(const std::string& folder);

}  // namespace halyard::client

// The cache folders of a driver: the driver may still write in them after its sandbox closes the
// rest of the file system.
// Thread safety: any thread.
// Ownership: the process owns the list, as it owns its sandbox.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace halyard {

// The driver calls this before the sandbox closes, while it makes its device. A later call has no
// effect. `folder`: an absolute path that exists. The call gives no rights to folders below it.
void keepFolderWritable(const std::filesystem::path& folder);

// Returns each folder once, in the order of the calls.
std::vector<std::string> foldersKeptWritable();

}  // namespace halyard

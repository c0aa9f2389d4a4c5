// Folders that a driver goes on writing in once its process has given up the rest of the file
// system: those of its caches. Thread safety: any thread. Ownership: the list is the process's, as
// its sandbox is.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace halyard {

// To be called before the sandbox is closed, thus while a driver makes its device; later it changes
// nothing. `folder`: absolute, there. No right to folders below it comes with it.
void keepFolderWritable(const std::filesystem::path& folder);

// Each once, in the order in which they came.
std::vector<std::string> foldersKeptWritable();

}  // namespace halyard

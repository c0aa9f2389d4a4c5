#include "base/kept_folders.h"

#include <algorithm>
#include <mutex>

namespace halyard {
namespace {

struct KeptFolders {
  std::mutex mutex;
  std::vector<std::string> folders;
};

KeptFolders& kept() {
  static KeptFolders* const instance =
      new KeptFolders;  // never destroyed: threads may outlive main
  return *instance;
}

}  // namespace

void keepFolderWritable(const std::filesystem::path& folder) {
  const std::lock_guard lock(kept().mutex);
  std::vector<std::string>& folders = kept().folders;
  if (std::find(folders.begin(), folders.end(), folder.string()) == folders.end()) {
    folders.push_back(folder.string());
  }
}

std::vector<std::string> foldersKeptWritable() {
  const std::lock_guard lock(kept().mutex);
  return kept().folders;
}

}  // namespace halyard

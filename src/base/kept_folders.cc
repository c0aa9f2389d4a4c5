#include "base/kept_folders.h"

#include <algorithm>
#include <mutex>

#include "base/process_generation.h"

namespace halyard {
namespace {

struct KeptFolders {
  std::mutex mutex;
  std::vector<std::string> folders;
};

KeptFolders& kept() {
  static constinit PerProcess<KeptFolders> instance;
  return instance.get();
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

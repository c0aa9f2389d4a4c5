#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>

#include "base/shell_word.h"
#include "cache/inventory.h"
#include "client/cache_folder.h"
#include "halyard/driver/compile_cache.h"
#include "tools/halyard/doctor/checks.h"

namespace halyard::cli {
namespace {

namespace fs = std::filesystem;
using cache::CacheItem;
using cache::CacheState;

constexpr uint64_t kLittleSpace = uint64_t{256} << 20;

// The owner and the mode of a folder that only this user may write. Nullopt when they are right.
std::optional<Finding> folderFinding(const fs::path& folder) {
  const Status status = client::checkCacheFolder(folder.string());
  if (status.ok()) return std::nullopt;
  struct stat st {};
  std::string command = fmt::format("mv {0} {0}.old", shellWord(folder.string()));
  if (::stat(folder.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) {
    command = st.st_uid == ::geteuid()
                  ? "chmod 700 " + shellWord(folder.string())
                  : asRoot(fmt::format("chown -R {}:{} {}", ::geteuid(), ::getegid(),
                                       shellWord(folder.string())));
  }
  return Finding{FindingLevel::PROBLEM, folder.string(),
                 "it is not used: " + std::string(status.message()), command};
}

std::optional<Finding> spaceFinding(const fs::path& folder) {
  struct statvfs st {};
  if (::statvfs(folder.c_str(), &st) != 0) return std::nullopt;
  const uint64_t free = uint64_t{st.f_bavail} * st.f_frsize;
  if (free >= kLittleSpace) return std::nullopt;
  return Finding{FindingLevel::WARNING, folder.string(),
                 fmt::format("the file system has {} bytes left", free),
                 "halyard cache prune --max-size 100MB"};
}

// The content of a folder or of a file of blobs, with the damaged entries.
void addContent(std::vector<Finding>& findings, const fs::path& path, const std::string& quota) {
  Result<std::vector<CacheItem>> items = cache::listCaches(path);
  if (!items.ok()) {
    findings.push_back({FindingLevel::PROBLEM, path.string(), items.status().toString(),
                        "ls -ld " + shellWord(path.string())});
    return;
  }
  uint64_t bytes = 0;
  size_t entries = 0;
  std::vector<std::string> damaged;
  for (CacheItem& item : *items) {
    cache::verify(item);
    bytes += item.bytes;
    entries += item.kind == CacheItem::Kind::BLOBS ? item.entries : 1;
    if (item.state == CacheState::DAMAGED) damaged.push_back(item.problem);
  }
  findings.push_back({FindingLevel::OK, path.string(),
                      fmt::format("{} entries, {} bytes{}", entries, bytes, quota)});
  if (damaged.empty()) return;
  findings.push_back({FindingLevel::WARNING, path.string(),
                      fmt::format("{} of {} do not verify, the first: {}", damaged.size(),
                                  items->size(), damaged.front()),
                      "halyard cache prune --damaged " + shellWord(path.string())});
}

void addCompilations(std::vector<Finding>& findings, const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) {
    findings.push_back({FindingLevel::OK, folder.string(), "not there yet, no model is compiled"});
    return;
  }
  if (const auto wrong = folderFinding(folder)) {
    findings.push_back(*wrong);
    return;
  }
  addContent(findings, folder,
             fmt::format(", at most {} compilations for each driver",
                         hal::CompileCacheLimits().entriesOfUser));
  if (const auto space = spaceFinding(folder)) findings.push_back(*space);
}

// The folders of drivers, above the stores' own folders.
void addStores(std::vector<Finding>& findings) {
  const Result<fs::path> store = hal::CompileCache::defaultFolder("x");
  if (!store.ok()) {
    findings.push_back({FindingLevel::WARNING, "stores of drivers", store.status().toString(),
                        "export HOME=$(getent passwd \"$(id -un)\" | cut -d: -f6)"});
    return;
  }
  std::error_code error;
  for (fs::directory_iterator entry(store->parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->is_directory(error)) continue;
    const auto wrong = folderFinding(entry->path());
    findings.push_back(wrong ? *wrong
                             : Finding{FindingLevel::OK, entry->path().string(),
                                       "a driver's record of its compilations"});
  }
  for (const fs::path& file : cache::defaultBlobFiles()) {
    if (const auto wrong = folderFinding(file.parent_path())) findings.push_back(*wrong);
    addContent(findings, file, "");
  }
}

}  // namespace

FindingSection checkCaches() {
  FindingSection section{"caches", {}};
  const Result<fs::path> folder = cache::defaultCompilationFolder();
  if (folder.ok()) {
    addCompilations(section.findings, *folder);
  } else {
    section.findings.push_back({FindingLevel::WARNING, "compilations", folder.status().toString(),
                                "export HOME=$(getent passwd \"$(id -un)\" | cut -d: -f6)"});
  }
  addStores(section.findings);
  return section;
}

}  // namespace halyard::cli

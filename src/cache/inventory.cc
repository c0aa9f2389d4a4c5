#include "cache/inventory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <string_view>

#include "base/bulk_digest.h"
#include "base/environment.h"
#include "cache/blob_file.h"
#include "cache/blob_format.h"
#include "cache/cache_file.h"
#include "cache/file_access.h"
#include "cache/private_folder.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::cache {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTokenLetters = 64;
constexpr uint64_t kMostBlobFileBytes = uint64_t{8} << 30;
constexpr std::chrono::milliseconds kWait{2000};

// The name of a compilation's file. It has the token, '1' for the model cache or '2' for the data
// cache, and a number.
struct FileName {
  std::string token;
  CacheFileFacts::Kind kind = CacheFileFacts::Kind::MODEL;
  unsigned index = 0;
};

std::optional<FileName> parseName(const std::string& name) {
  if (name.size() < kTokenLetters + 2 || name.size() > kTokenLetters + 3) return std::nullopt;
  FileName parsed;
  parsed.token = name.substr(0, kTokenLetters);
  if (parsed.token.find_first_not_of("ABCDEFGHIJKLMNOP") != std::string::npos) return std::nullopt;
  const char kind = name[kTokenLetters];
  if (kind != '1' && kind != '2') return std::nullopt;
  parsed.kind = kind == '1' ? CacheFileFacts::Kind::MODEL : CacheFileFacts::Kind::DATA;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(&name[kTokenLetters + 1], end, parsed.index);
  if (error != std::errc() || rest != end) return std::nullopt;
  return parsed;
}

std::string nameOfToken(const hal::Token& token) {
  std::string name;
  for (const uint8_t byte : token) {
    name += static_cast<char>('A' + (byte & 15));
    name += static_cast<char>('A' + (byte >> 4));
  }
  return name;
}

Result<UniqueFd> openFile(const fs::path& path) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  // Inspection must not count as a use. Only the file's owner may open it without an access time.
  UniqueFd fd(::open(path.c_str(), kFlags | O_NOATIME));
  if (!fd.valid() && errno == EPERM) fd.reset(::open(path.c_str(), kFlags));
  if (!fd.valid()) return errnoStatus(ResultCode::OP_FAILED, errno, path.string());
  HALYARD_RETURN_IF_ERROR(checkFile(fd.get(), Access::READ).takeStatus(), "{}", path.string());
  return fd;
}

// Returns the first bytes of the file, at most `most`.
std::vector<uint8_t> firstBytes(const fs::path& path, size_t most) {
  const auto fd = openFile(path);
  if (!fd.ok()) return {};
  std::vector<uint8_t> bytes(most);
  const ssize_t got = ::pread(fd->get(), bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

// Returns false when it is not a regular file.
bool addFile(CacheItem& item, const fs::path& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return false;
  item.files.push_back(path);
  item.bytes += static_cast<uint64_t>(st.st_size);
  item.lastUsed = std::max({item.lastUsed, int64_t{st.st_mtim.tv_sec}, int64_t{st.st_atim.tv_sec}});
  return true;
}

// The caller must make a driver's name safe for a terminal.
void lookAtHeads(CacheItem& item) {
  for (const fs::path& file : item.files) {
    const auto facts = decodeHead(firstBytes(file, kCacheFileHeadBytes));
    if (facts.ok()) item.driver = facts->driver;
  }
}

Result<CacheItem> lookAtBlobs(const fs::path& path) {
  CacheItem item;
  item.kind = CacheItem::Kind::BLOBS;
  item.name = path.string();
  if (!addFile(item, path)) return badData("{}: it is not a regular file", path.string());
  const auto head = decodeBlobHead(firstBytes(path, 4096));
  if (!head.ok()) {
    if (!looksLikeBlobs(firstBytes(path, 8))) {
      return badData("{}: {}", path.string(), head.status().message());
    }
    item.state = CacheState::DAMAGED;
    item.problem = head.status().message();
    return item;
  }
  item.entries = head->entries;
  item.driver = path.parent_path().filename().string();
  return item;
}

Status damaged(const fs::path& path, const Status& status) {
  return badData("{}: {}", path.filename().string(), status.message());
}

// Returns the verified facts of one file of a compilation.
Result<CacheFileFacts> verifyFile(const fs::path& path, const FileName& name) {
  HALYARD_ASSIGN_OR_RETURN(const UniqueFd fd, openFile(path));
  HALYARD_ASSIGN_OR_RETURN(const FileIdentity found, checkFile(fd.get(), Access::READ));
  const uint64_t size = found.size;
  std::vector<uint8_t> head(std::min<uint64_t>(size, kCacheFileHeadBytes));
  HALYARD_RETURN_IF_ERROR(readAt(fd.get(), 0, head));
  HALYARD_ASSIGN_OR_RETURN(CacheFileFacts facts, decodeHead(head));
  if (facts.contentBytes != size - kCacheFileHeadBytes) {
    return badData("it has {} bytes of content, {} were saved", size - kCacheFileHeadBytes,
                   facts.contentBytes);
  }
  if (facts.kind != name.kind || facts.index != name.index ||
      nameOfToken(facts.token) != name.token) {
    return badData("it was saved under another name");
  }
  BulkDigester digest;
  std::vector<uint8_t> block(1 << 16);
  for (uint64_t at = 0; at < facts.contentBytes; at += block.size()) {
    const auto part =
        std::span(block).first(std::min<uint64_t>(block.size(), facts.contentBytes - at));
    HALYARD_RETURN_IF_ERROR(readAt(fd.get(), kCacheFileHeadBytes + at, part));
    digest.add(part);
  }
  if (digest.finish() != facts.content) return badData("its content has been changed");
  return facts;
}

// Checks that the files belong together.
Status verifySet(const std::vector<CacheFileFacts>& all) {
  std::vector<Digest> data;
  size_t models = 0;
  for (const CacheFileFacts& facts : all) {
    if (facts.kind == CacheFileFacts::Kind::DATA) {
      data.push_back(facts.content);
    } else {
      ++models;
    }
    if (facts.modelFiles != all[0].modelFiles || facts.dataFiles != all[0].dataFiles ||
        facts.build != all[0].build || facts.driver != all[0].driver) {
      return badData("its files were not saved together");
    }
  }
  if (models != all[0].modelFiles || data.size() != all[0].dataFiles) {
    return badData("it has {} model cache and {} data cache files, {} and {} were saved", models,
                   data.size(), all[0].modelFiles, all[0].dataFiles);
  }
  if (digestOfAll(data) != all[0].allData) return badData("its files were not saved together");
  return okStatus();
}

void verifyCompilation(CacheItem& item) {
  std::vector<CacheFileFacts> all;
  size_t empty = 0;
  size_t foreign = 0;
  Status problem;
  for (const fs::path& file : item.files) {
    const std::vector<uint8_t> begin = firstBytes(file, 8);
    if (begin.empty()) {
      ++empty;
    } else if (!looksLikeCacheFile(begin)) {
      ++foreign;
    } else {
      auto facts = verifyFile(file, *parseName(file.filename().string()));
      if (facts.ok()) {
        all.push_back(std::move(*facts));
      } else if (problem.ok()) {
        problem = damaged(file, facts.status());
      }
    }
  }
  if (empty == item.files.size()) {
    item.state = CacheState::EMPTY;
  } else if (foreign + empty == item.files.size()) {
    item.state = CacheState::FOREIGN;
  } else {
    if (problem.ok()) problem = verifySet(all);
    item.state = problem.ok() ? CacheState::OK : CacheState::DAMAGED;
    item.problem = problem.message();
  }
}

void verifyBlobs(CacheItem& item) {
  const auto check = [&]() -> Status {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                             readOwnFile(item.files[0], kMostBlobFileBytes));
    HALYARD_ASSIGN_OR_RETURN(const BlobHead head, decodeBlobHead(bytes));
    if (!head.known) {
      item.state = CacheState::FOREIGN;
      return okStatus();
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t bad, decodeBlobs(bytes, head, [](const BlobEntry&) {}));
    if (bad > 0) return badData("{} of {} entries are damaged", bad, head.entries);
    return okStatus();
  };
  item.state = CacheState::OK;
  const Status status = check();
  if (status.ok()) return;
  item.state = CacheState::DAMAGED;
  item.problem = status.message();
}

}  // namespace

const char* nameOf(CacheState state) {
  switch (state) {
    case CacheState::UNCHECKED:
      return "not checked";
    case CacheState::OK:
      return "ok";
    case CacheState::EMPTY:
      return "empty";
    case CacheState::FOREIGN:
      return "the driver's own format";
    case CacheState::DAMAGED:
      return "damaged";
  }
  return "unknown";
}

Result<fs::path> defaultCompilationFolder() {
  const char* const cache = environmentVariable("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return fs::path(cache) / "halyard/compilations";
  const char* const home = environmentVariable("HOME");
  if (home != nullptr && home[0] == '/') return fs::path(home) / ".cache/halyard/compilations";
  return opFailed(
      "neither XDG_CACHE_HOME nor HOME is an absolute path, so that there is no default folder");
}

std::vector<fs::path> defaultBlobFiles() {
  std::vector<fs::path> files;
  const auto folder = stateFolder("blob_cache", "x");
  if (!folder.ok()) return files;
  std::error_code error;
  for (fs::directory_iterator entry(folder->parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path file = entry->path() / "blobs";
    if (looksLikeBlobs(firstBytes(file, 8))) files.push_back(file);
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::vector<CacheItem>> listCaches(const fs::path& path) {
  std::vector<CacheItem> items;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (error) return errnoStatus(ResultCode::OP_FAILED, error.value(), path.string());
    HALYARD_ASSIGN_OR_RETURN(CacheItem item, lookAtBlobs(path));
    items.push_back(std::move(item));
    return items;
  }
  std::map<std::string, CacheItem> compilations;
  fs::directory_iterator entry(path, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    if (const auto name = parseName(entry->path().filename().string())) {
      CacheItem& item = compilations[name->token];
      item.name = name->token;
      (void)addFile(item, entry->path());
    } else if (looksLikeBlobs(firstBytes(entry->path(), 8))) {
      auto item = lookAtBlobs(entry->path());
      if (item.ok()) items.push_back(std::move(*item));
    }
  }
  if (error) return errnoStatus(ResultCode::OP_FAILED, error.value(), path.string());
  for (auto& [token, item] : compilations) {
    if (item.files.empty()) continue;  // links and similar files
    std::sort(item.files.begin(), item.files.end());
    lookAtHeads(item);
    items.push_back(std::move(item));
  }
  return items;
}

void verify(CacheItem& item) {
  if (item.kind == CacheItem::Kind::BLOBS) {
    verifyBlobs(item);
  } else {
    verifyCompilation(item);
  }
}

std::vector<CacheItem> chooseForPruning(std::vector<CacheItem>& items, const PruneLimits& limits,
                                        int64_t now) {
  std::vector<CacheItem> gone;
  std::vector<CacheItem> stay;
  std::sort(items.begin(), items.end(), [](const CacheItem& a, const CacheItem& b) {
    return a.lastUsed != b.lastUsed ? a.lastUsed > b.lastUsed : a.name < b.name;
  });
  uint64_t bytes = 0;
  for (CacheItem& item : items) {
    const bool old = limits.maxAge && item.lastUsed < now - *limits.maxAge;
    const bool bad = limits.damaged && item.state == CacheState::DAMAGED;
    const bool large = limits.bytes && item.bytes > *limits.bytes - bytes;
    if (!old && !bad && !large) bytes += item.bytes;
    (old || bad || large ? gone : stay).push_back(std::move(item));
  }
  items = std::move(stay);
  return gone;
}

Status removeFiles(const CacheItem& item) {
  for (const fs::path& file : item.files) {
    if (::unlink(file.c_str()) != 0 && errno != ENOENT) {
      return errnoStatus(ResultCode::OP_FAILED, errno, "removing " + file.string());
    }
  }
  return okStatus();
}

Result<size_t> pruneBlobs(const fs::path& file, int64_t time) {
  const std::string lockPath = file.string() + ".lock";
  const UniqueFd lockFile(
      ::open(lockPath.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lockFile.valid()) return errnoStatus(ResultCode::OP_FAILED, errno, lockPath);
  HALYARD_ASSIGN_OR_RETURN(const FileLock lock,
                           FileLock::take(lockFile.get(), /*exclusive=*/true, kWait), "{}",
                           lockPath);
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, readOwnFile(file, kMostBlobFileBytes),
                           "{}", file.string());
  HALYARD_ASSIGN_OR_RETURN(const BlobHead head, decodeBlobHead(bytes), "{}", file.string());
  if (!head.known) return size_t{0};
  std::vector<uint8_t> kept(blobHeadSize(head.build));
  uint32_t entries = 0;
  HALYARD_RETURN_IF_ERROR(
      decodeBlobs(bytes, head,
                  [&](const BlobEntry& entry) {
                    if (entry.savedAt < time) return;
                    const size_t at = kept.size();
                    kept.resize(at + blobEntrySize(entry.key.size(), entry.value.size()));
                    encodeBlobEntry(entry, &kept[at]);
                    ++entries;
                  })
          .takeStatus(),
      "{}", file.string());
  if (entries == head.entries) return size_t{0};
  encodeBlobHead(head.build, entries, kept.data());
  HALYARD_RETURN_IF_ERROR(replaceFile(file, kept));
  return size_t{head.entries - entries};
}

}  // namespace halyard::cache

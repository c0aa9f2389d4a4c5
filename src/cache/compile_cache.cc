#include "halyard/driver/compile_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <set>

#include "base/bulk_digest.h"
#include "base/kept_folders.h"
#include "cache/cache_file.h"
#include "cache/compile_store.h"
#include "cache/file_access.h"
#include "cache/private_folder.h"

namespace halyard::hal {
namespace {

using cache::CacheFileFacts;
using cache::CacheFileHead;
using cache::FileDeadline;
using cache::FileLock;
using Contents = std::vector<std::vector<uint8_t>>;
using Kind = CacheFileFacts::Kind;

constexpr size_t kMostNameBytes = 200;
constexpr size_t kMostBuildBytes = 4096;

Status checkIdentity(const CompileCache::Identity& identity) {
  const std::string& driver = identity.driver;
  const bool control = std::any_of(driver.begin(), driver.end(), [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
  });
  if (driver.empty() || driver.size() > kMostNameBytes || control) {
    return badData("the driver's name has {} bytes, expected 1 to {} without control characters",
                   driver.size(), kMostNameBytes);
  }
  if (identity.build.size() > kMostBuildBytes || identity.build.find('\0') != std::string::npos) {
    return badData("the driver's build has {} bytes, expected at most {} without zeros",
                   identity.build.size(), kMostBuildBytes);
  }
  return okStatus();
}

const char* nameOf(Kind kind) { return kind == Kind::MODEL ? "model cache" : "data cache"; }

// Visits the files in the order in which they are locked, written and read.
template <typename F>
Status forEachFile(const CacheFiles& files, F f) {
  for (const Kind kind : {Kind::MODEL, Kind::DATA}) {
    const auto& list = kind == Kind::MODEL ? files.modelCache : files.dataCache;
    for (size_t i = 0; i < list.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(f(kind, i, list[i].get()), "{} file {}", nameOf(kind), i);
    }
  }
  return okStatus();
}

Status checkFiles(const CacheFiles& files, cache::Access access, FileDeadline until) {
  constexpr size_t kMostFiles = 32;
  if (files.modelCache.size() + files.dataCache.size() == 0) return badData("there are no files");
  if (std::max(files.modelCache.size(), files.dataCache.size()) > kMostFiles) {
    return badData("there are {} model cache and {} data cache files, at most {} each are allowed",
                   files.modelCache.size(), files.dataCache.size(), kMostFiles);
  }
  std::set<std::pair<dev_t, ino_t>> seen;
  return forEachFile(files, [&](Kind, size_t, int fd) -> Status {
    HALYARD_ASSIGN_OR_RETURN(const cache::FileIdentity file, cache::checkFile(fd, access, until));
    if (!seen.emplace(file.device, file.number).second) return badData("it is there twice");
    return okStatus();
  });
}

// All users of the set lock its first file.
int fileForLock(const CacheFiles& files) {
  return files.modelCache.empty() ? files.dataCache[0].get() : files.modelCache[0].get();
}

Result<FileLock> lockFiles(const CacheFiles& files, bool exclusive, std::chrono::milliseconds wait,
                           FileDeadline until) {
  HALYARD_ASSIGN_OR_RETURN(
      FileLock lock, FileLock::take(fileForLock(files), exclusive, wait, until), "the cache files");
  return lock;
}

std::vector<uint64_t> sizesOf(const Contents& contents) {
  std::vector<uint64_t> sizes;
  for (const auto& content : contents) sizes.push_back(content.size());
  return sizes;
}

// Digests the files of a kind: heads and contents with their lengths, and the key under which they
// are saved.
class SetDigest {
 public:
  SetDigest(Kind kind, const CompileCache::Identity& identity, const Token& token, uint32_t uid,
            size_t files) {
    sha_.addText("halyard compilation 2").addNumber(static_cast<uint64_t>(kind)).addNumber(uid);
    sha_.add(token).addText(identity.driver).addText(identity.build).addNumber(files);
  }
  void add(const CacheFileHead& head, size_t contentBytes, const Digest& content) {
    sha_.addNumber(contentBytes).add(head).add(content);
  }
  Digest finish() { return sha_.finish(); }

 private:
  Sha256 sha_;
};

// The data that save() writes and records.
struct Sealed {
  std::vector<CacheFileHead> modelHeads;
  std::vector<CacheFileHead> dataHeads;
  Digest model;
  Digest data;
};

Sealed seal(const CompileCache::Identity& identity, const CacheFiles& files,
            const CompileCache::Content& content, uint32_t uid) {
  std::vector<Digest> dataDigests;
  for (const auto& bytes : content.data) dataDigests.push_back(bulkDigest(bytes));
  CacheFileFacts facts;
  facts.modelFiles = static_cast<uint8_t>(content.model.size());
  facts.dataFiles = static_cast<uint8_t>(content.data.size());
  facts.token = files.token;
  facts.allData = cache::digestOfAll(dataDigests);
  facts.driver = identity.driver;
  const Digest build = Sha256().addText(identity.build).finish();
  std::copy_n(build.begin(), facts.build.size(), facts.build.begin());

  Sealed sealed;
  const auto addAll = [&](Kind kind, const Contents& contents, std::vector<CacheFileHead>& heads) {
    SetDigest set(kind, identity, files.token, uid, contents.size());
    facts.kind = kind;
    for (size_t i = 0; i < contents.size(); ++i) {
      facts.index = static_cast<uint8_t>(i);
      facts.contentBytes = contents[i].size();
      facts.content = kind == Kind::DATA ? dataDigests[i] : bulkDigest(contents[i]);
      heads.push_back(cache::encodeHead(facts));
      set.add(heads.back(), contents[i].size(), facts.content);
    }
    return set.finish();
  };
  sealed.model = addAll(Kind::MODEL, content.model, sealed.modelHeads);
  sealed.data = addAll(Kind::DATA, content.data, sealed.dataHeads);
  return sealed;
}

Status writeFiles(const CacheFiles& files, const CompileCache::Content& content,
                  const Sealed& sealed, FileDeadline until) {
  return forEachFile(files, [&](Kind kind, size_t i, int fd) -> Status {
    const bool model = kind == Kind::MODEL;
    const CacheFileHead& head = model ? sealed.modelHeads[i] : sealed.dataHeads[i];
    const std::vector<uint8_t>& bytes = model ? content.model[i] : content.data[i];
    HALYARD_RETURN_IF_ERROR(cache::truncate(fd, until));
    HALYARD_RETURN_IF_ERROR(cache::writeAt(fd, 0, head, until));
    return cache::writeAt(fd, head.size(), bytes, until);
  });
}

// Empties the files, so that useless data does not fill the disk.
void emptyFiles(const CacheFiles& files, FileDeadline until) {
  (void)forEachFile(files, [until](Kind, size_t, int fd) {
    (void)cache::truncate(fd, until);
    return okStatus();
  });
}

constexpr size_t kAlignment = 64;  // alignment of LoadedFile
// Fresh memory costs a page fault for each page, and the faults take longer than the digest. So
// large contents use large pages if the system has them.
constexpr size_t kLargePage = size_t{2} << 20;

// Returns null when there is no memory. Only the bytes after the end are initialised.
std::shared_ptr<uint8_t> allocate(size_t size) {
  const size_t alignment = size >= kLargePage ? kLargePage : kAlignment;
  const size_t bytes = (size + kAlignment + alignment - 1) / alignment * alignment;
  if (bytes < size) return nullptr;
  std::shared_ptr<uint8_t> memory(static_cast<uint8_t*>(std::aligned_alloc(alignment, bytes)),
                                  [](uint8_t* pointer) { std::free(pointer); });
  if (memory == nullptr) return nullptr;
  if (alignment == kLargePage) (void)::madvise(memory.get(), bytes, MADV_HUGEPAGE);
  std::memset(memory.get() + size, 0, kAlignment);
  return memory;
}

Status readFile(int fd, uint64_t expectedBytes, FileDeadline until, SetDigest& digest,
                CompileCache::LoadedFile* content) {
  HALYARD_ASSIGN_OR_RETURN(const cache::FileIdentity file,
                           cache::checkFile(fd, cache::Access::READ, until));
  const uint64_t size = file.size;
  if (size != cache::kCacheFileHeadBytes + expectedBytes) {
    return opFailed("it has {} bytes, {} were saved", size,
                    cache::kCacheFileHeadBytes + expectedBytes);
  }
  CacheFileHead head;
  HALYARD_RETURN_IF_ERROR(cache::readAt(fd, 0, head, until));
  const std::shared_ptr<uint8_t> memory = allocate(expectedBytes);
  if (memory == nullptr) {
    return makeStatus(ResultCode::OUT_OF_MEMORY, "no memory for {} bytes", expectedBytes);
  }
  HALYARD_RETURN_IF_ERROR(cache::readAt(fd, head.size(), {memory.get(), expectedBytes}, until));
  *content = {memory, expectedBytes};
  digest.add(head, expectedBytes, bulkDigest(content->bytes()));
  return okStatus();
}

// Reads the files of a kind into `contents`. It checks their digest only.
Status readFiles(Kind kind, const std::vector<UniqueFd>& files,
                 const std::vector<uint64_t>& expectedBytes, FileDeadline until, SetDigest& digest,
                 std::vector<CompileCache::LoadedFile>& contents) {
  for (size_t i = 0; i < files.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(
        readFile(files[i].get(), expectedBytes[i], until, digest, &contents.emplace_back()),
        "{} file {}", nameOf(kind), i);
  }
  return okStatus();
}

Status checkCounts(const std::vector<UniqueFd>& files, const std::vector<uint64_t>& saved,
                   Kind kind) {
  if (files.size() == saved.size()) return okStatus();
  return opFailed("{} {} files were saved, there are {}", saved.size(), nameOf(kind), files.size());
}

}  // namespace

CompileCache::CompileCache(Identity identity, const CompileCacheLimits& limits,
                           std::unique_ptr<Store> store)
    : identity_(std::move(identity)), limits_(limits), store_(std::move(store)) {}

CompileCache::~CompileCache() = default;

Result<std::filesystem::path> CompileCache::defaultFolder(const std::string& driver) {
  return cache::stateFolder("compile_cache", driver);
}

Result<std::shared_ptr<CompileCache>> CompileCache::open(Identity identity,
                                                         const std::filesystem::path& folder,
                                                         const CompileCacheLimits& limits) {
  return make(std::move(identity), folder, limits, Connect::NOW);
}

Result<std::shared_ptr<CompileCache>> CompileCache::openAtFirstUse(
    Identity identity, const std::filesystem::path& folder, const CompileCacheLimits& limits) {
  return make(std::move(identity), folder, limits, Connect::AT_FIRST_USE);
}

Result<std::shared_ptr<CompileCache>> CompileCache::make(Identity identity,
                                                         const std::filesystem::path& folder,
                                                         const CompileCacheLimits& limits,
                                                         Connect connect) {
  constexpr const char* kWhat = "the store of cached compilations";
  HALYARD_RETURN_IF_ERROR(checkIdentity(identity), kWhat);
  std::filesystem::path wanted = folder;
  if (wanted.empty()) {
    HALYARD_ASSIGN_OR_RETURN(wanted, defaultFolder(identity.driver), kWhat);
  }
  HALYARD_ASSIGN_OR_RETURN(const std::filesystem::path real, cache::makePrivateFolder(wanted),
                           kWhat);
  auto store = std::make_unique<Store>(identity, real, limits);
  HALYARD_RETURN_IF_ERROR(connect == Connect::NOW ? store->open() : store->checkPlace(), kWhat);
  keepFolderWritable(real);
  return std::shared_ptr<CompileCache>(
      new CompileCache(std::move(identity), limits, std::move(store)));
}

const std::filesystem::path& CompileCache::folder() const { return store_->folder(); }

Status CompileCache::save(const CacheFiles& files, const Content& content, uint32_t clientUid) {
  constexpr const char* kWhat = "saving a compilation";
  if (content.model.size() != files.modelCache.size() ||
      content.data.size() != files.dataCache.size()) {
    return badData("{}: there are {} + {} contents for {} model cache and {} data cache files",
                   kWhat, content.model.size(), content.data.size(), files.modelCache.size(),
                   files.dataCache.size());
  }
  uint64_t bytes = 0;
  for (const Contents* contents : {&content.model, &content.data}) {
    for (const auto& part : *contents) bytes += part.size() + cache::kCacheFileHeadBytes;
  }
  if (bytes > limits_.bytes) {
    return badData("{}: it has {} bytes, at most {} are saved", kWhat, bytes, limits_.bytes);
  }
  const FileDeadline until = std::chrono::steady_clock::now() + limits_.foreignFiles;
  HALYARD_RETURN_IF_ERROR(checkFiles(files, cache::Access::READ_WRITE, until), kWhat);
  const Sealed sealed = seal(identity_, files, content, clientUid);
  HALYARD_ASSIGN_OR_RETURN(const FileLock lock,
                           lockFiles(files, /*exclusive=*/true, limits_.wait, until), kWhat);
  // Until the last step, the digests in the store differ from those of the files. A reader in this
  // time, or after a crash, finds no entry.
  Status status = writeFiles(files, content, sealed, until);
  if (status.ok()) {
    status = store_->put(files.token, clientUid,
                         {identity_.build, sealed.model, sealed.data, sizesOf(content.model),
                          sizesOf(content.data)});
  }
  if (!status.ok()) emptyFiles(files, until);
  return status.annotate(kWhat);
}

Result<CompileCache::Content> CompileCache::load(const CacheFiles& files, uint32_t clientUid) {
  HALYARD_ASSIGN_OR_RETURN(const Loaded loaded, loadInPlace(files, clientUid));
  Content content;
  try {
    for (const LoadedFile& file : loaded.model) {
      content.model.emplace_back(file.bytes().begin(), file.bytes().end());
    }
    for (const LoadedFile& file : loaded.data) {
      content.data.emplace_back(file.bytes().begin(), file.bytes().end());
    }
  } catch (const std::bad_alloc&) {
    return makeStatus(ResultCode::OUT_OF_MEMORY, "loading a compilation: there is no memory");
  }
  return content;
}

Result<CompileCache::Loaded> CompileCache::loadInPlace(const CacheFiles& files,
                                                       uint32_t clientUid) {
  constexpr const char* kWhat = "loading a compilation";
  const FileDeadline until = std::chrono::steady_clock::now() + limits_.foreignFiles;
  HALYARD_RETURN_IF_ERROR(checkFiles(files, cache::Access::READ, until), kWhat);
  HALYARD_ASSIGN_OR_RETURN(const FileLock lock,
                           lockFiles(files, /*exclusive=*/false, limits_.wait, until), kWhat);
  HALYARD_ASSIGN_OR_RETURN(const std::optional<Store::Entry> entry,
                           store_->find(files.token, clientUid), kWhat);
  if (!entry) return opFailed("{}: nothing was saved under this token", kWhat);
  if (entry->build != identity_.build) {
    return opFailed("{}: it was saved by another build of the driver", kWhat);
  }
  HALYARD_RETURN_IF_ERROR(checkCounts(files.modelCache, entry->modelBytes, Kind::MODEL), kWhat);
  HALYARD_RETURN_IF_ERROR(checkCounts(files.dataCache, entry->dataBytes, Kind::DATA), kWhat);
  Loaded content;
  for (const Kind kind : {Kind::MODEL, Kind::DATA}) {
    const bool model = kind == Kind::MODEL;
    SetDigest digest(kind, identity_, files.token, clientUid,
                     model ? files.modelCache.size() : files.dataCache.size());
    HALYARD_RETURN_IF_ERROR(readFiles(kind, model ? files.modelCache : files.dataCache,
                                      model ? entry->modelBytes : entry->dataBytes, until, digest,
                                      model ? content.model : content.data),
                            kWhat);
    if (digest.finish() != (model ? entry->model : entry->data)) {
      return opFailed("{}: the {} files are not what was saved last under this token", kWhat,
                      nameOf(kind));
    }
  }
  return content;
}

Status CompileCache::forget(const Token& token, uint32_t clientUid) {
  return store_->erase(token, clientUid).annotate("forgetting a compilation");
}

}  // namespace halyard::hal

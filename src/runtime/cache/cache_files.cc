// Opens, locks and replaces sets of files.
#include "runtime/cache/cache_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <thread>

namespace halyard::runtime {
namespace {

constexpr const char* kLockFile = ".halyard-lock";
constexpr const char* kTimesAttribute = "user.halyard.times";
constexpr const char* kUnpublished = ".new";
constexpr mode_t kMode = S_IRUSR | S_IWUSR;
// Does not follow symbolic links, does not block, and does not pass the descriptor to other
// programs.
constexpr int kSafely = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

std::string reasonText(int error) { return std::strerror(error); }  // NOLINT(concurrency-mt-unsafe)

// OP_FAILED unless it is a regular file of the effective user with a single name in the file
// system.
Status checkOwn(int fd, const std::string& path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return opFailed("{}: {}", path, reasonText(errno));
  if (!S_ISREG(st.st_mode)) return opFailed("{} is not a regular file", path);
  if (st.st_uid != ::geteuid()) {
    return opFailed("{} belongs to user {}, expected {}", path, st.st_uid, ::geteuid());
  }
  if (st.st_nlink != 1) {
    return opFailed("{} has {} names in the file system, expected 1", path, st.st_nlink);
  }
  return okStatus();
}

const UniqueFd* firstOf(const hal::CacheFiles& files) {
  if (!files.modelCache.empty()) return files.modelCache.data();
  return files.dataCache.empty() ? nullptr : files.dataCache.data();
}

// The position in the lock file for the token.
off_t lockPlace(const hal::Token& token) {
  uint64_t number = 0;
  std::memcpy(&number, token.data(), sizeof(number));
  return static_cast<off_t>(number >> 2);  // leaves room for the length of the range
}

}  // namespace

std::string cacheFileName(const hal::Token& token, char kind, uint32_t index) {
  std::string name;
  for (const uint8_t byte : token) {
    name += static_cast<char>('A' + (byte & 15));
    name += static_cast<char>('A' + (byte >> 4));
  }
  return fmt::format("{}{}{}", name, kind, index);
}

uint64_t sizeOf(const hal::CacheFiles& files) {
  uint64_t sum = 0;
  for (const auto* list : {&files.modelCache, &files.dataCache}) {
    for (const UniqueFd& fd : *list) {
      struct stat st {};
      if (::fstat(fd.get(), &st) == 0) sum += static_cast<uint64_t>(st.st_size);
    }
  }
  return sum;
}

void setTimes(const hal::CacheFiles& files, const CacheTimes& times) {
  const UniqueFd* const first = firstOf(files);
  if (first == nullptr) return;
  const std::string text =
      fmt::format("1 {} {:.0f} {:.0f} {}", sizeOf(files), times.coldNs, times.warmNs, times.slower);
  (void)::fsetxattr(first->get(), kTimesAttribute, text.data(), text.size(), 0);
}

std::optional<CacheTimes> timesOf(const hal::CacheFiles& files) {
  const UniqueFd* const first = firstOf(files);
  if (first == nullptr) return std::nullopt;
  std::array<char, 128> text{};  // stays NUL-terminated
  if (::fgetxattr(first->get(), kTimesAttribute, text.data(), text.size() - 1) <= 0) {
    return std::nullopt;
  }
  CacheTimes times;
  uint64_t bytes = 0;
  const int found = std::sscanf(text.data(), "1 %" SCNu64 " %lf %lf %" SCNu32, &bytes,
                                &times.coldNs, &times.warmNs, &times.slower);
  if (found != 4 || bytes != sizeOf(files) || !(times.coldNs > 0) || !(times.warmNs >= 0))
    return std::nullopt;
  return times;
}

Result<std::unique_ptr<CacheSet>> CacheSet::open(const std::string& folder, const hal::Token& token,
                                                 uint32_t modelFiles, uint32_t dataFiles,
                                                 std::optional<hal::TimePoint> until) {
  std::unique_ptr<CacheSet> set(new CacheSet);
  set->folder_ = folder.empty() ? "." : folder;
  set->token_ = token;
  set->modelFiles_ = modelFiles;
  set->until_ = until;
  for (uint32_t i = 0; i < modelFiles; ++i) set->names_.push_back(cacheFileName(token, '1', i));
  for (uint32_t i = 0; i < dataFiles; ++i) set->names_.push_back(cacheFileName(token, '2', i));
  set->folderFd_.reset(::open(set->folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!set->folderFd_.valid()) {
    return opFailed("the folder {}: {}", set->folder_, reasonText(errno));
  }
  const int at = set->folderFd_.get();
  set->lockFd_.reset(::openat(at, kLockFile, O_RDWR | O_CREAT | kSafely, kMode));
  set->lockIsWritable_ = set->lockFd_.valid();
  if (!set->lockFd_.valid()) {
    const int error = errno;
    // This process cannot replace files in a read-only folder.
    if (error != EACCES && error != EROFS && error != EPERM) {
      return opFailed("{}/{}: {}", set->folder_, kLockFile, reasonText(error));
    }
    set->lockFd_.reset(::openat(at, kLockFile, O_RDONLY | kSafely));
  }
  if (set->lockFd_.valid()) {
    HALYARD_RETURN_IF_ERROR(
        checkOwn(set->lockFd_.get(), fmt::format("{}/{}", set->folder_, kLockFile)));
  }
  return set;
}

CacheSet::~CacheSet() {
  abandon();
  unlock();
}

Status CacheSet::lock(Access access) {
  if (!lockFd_.valid() || (access == Access::WRITE && !lockIsWritable_)) {
    if (access == Access::READ) return okStatus();
    return opFailed("the folder {} cannot be written", folder_);
  }
  const hal::TimePoint begin = hal::Clock::now();
  const hal::TimePoint end =
      std::min(begin + kMostCacheWait, until_.value_or(begin + kMostCacheWait));
  struct flock range {};
  range.l_type = access == Access::READ ? F_RDLCK : F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = lockPlace(token_);
  range.l_len = 1;
  std::chrono::microseconds pause{200};
  while (::fcntl(lockFd_.get(), F_OFD_SETLK, &range) != 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EACCES) {
      return opFailed("the lock in the folder {}: {}", folder_, reasonText(errno));
    }
    if (hal::Clock::now() >= end) {
      return opFailed(
          "somebody else has been replacing the files in {} for longer than may be waited ({} ms "
          "at "
          "most)",
          folder_, kMostCacheWait.count());
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(pause * 2, std::chrono::milliseconds(10));
  }
  return okStatus();
}

void CacheSet::unlock() {
  if (!lockFd_.valid()) return;
  // Unlocks explicitly, because a child process that was forked meanwhile has a copy of the
  // descriptor.
  struct flock range {};
  range.l_type = F_UNLCK;
  range.l_whence = SEEK_SET;
  range.l_start = lockPlace(token_);
  range.l_len = 1;
  (void)::fcntl(lockFd_.get(), F_OFD_SETLK, &range);
}

Result<std::optional<OpenedCache>> CacheSet::openFiles() {
  if (!replacing_) HALYARD_RETURN_IF_ERROR(lock(Access::READ));
  Result<std::optional<OpenedCache>> opened = openLocked();
  seenInode_ = opened.ok() && opened->has_value() ? firstInode() : std::nullopt;
  if (!replacing_) unlock();
  return opened;
}

Result<std::optional<OpenedCache>> CacheSet::openLocked() {
  auto files = std::make_shared<hal::CacheFiles>();
  files->token = token_;
  bool isComplete = true;
  for (size_t i = 0; i < names_.size(); ++i) {
    const std::string path = fmt::format("{}/{}", folder_, names_[i]);
    UniqueFd fd(::openat(folderFd_.get(), names_[i].c_str(), O_RDWR | kSafely));
    if (!fd.valid()) {
      const int error = errno;
      if (error == ENOENT) {
        isComplete = false;
        continue;
      }
      if (error == ELOOP) return opFailed("{} is a symbolic link", path);
      return opFailed("{}: {}", path, reasonText(error));
    }
    HALYARD_RETURN_IF_ERROR(checkOwn(fd.get(), path));
    (i < modelFiles_ ? files->modelCache : files->dataCache).push_back(std::move(fd));
  }
  if (!isComplete) return std::optional<OpenedCache>();
  OpenedCache opened;
  opened.bytes = sizeOf(*files);
  opened.times = timesOf(*files);
  opened.files = std::move(files);
  return std::optional(std::move(opened));
}

std::optional<uint64_t> CacheSet::firstInode() const {
  struct stat st {};
  if (::fstatat(folderFd_.get(), names_.front().c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return std::nullopt;
  }
  return st.st_ino;
}

bool CacheSet::hasChanged() const {
  const std::optional<uint64_t> now = firstInode();
  return now.has_value() && now != seenInode_;
}

Result<std::shared_ptr<const hal::CacheFiles>> CacheSet::replace() {
  HALYARD_RETURN_IF_ERROR(lock(Access::WRITE));
  replacing_ = true;
  auto files = std::make_shared<hal::CacheFiles>();
  files->token = token_;
  for (size_t i = 0; i < names_.size(); ++i) {
    const std::string name = names_[i] + kUnpublished;
    // A process that ended early may have left this file. The lock excludes other writers of it
    // now.
    (void)::unlinkat(folderFd_.get(), name.c_str(), 0);
    UniqueFd fd(
        ::openat(folderFd_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | kSafely, kMode));
    // fchmod() is needed because the umask of the process may have cleared permission bits.
    if (!fd.valid() || ::fchmod(fd.get(), kMode) != 0) {
      Status status = opFailed("{}/{}: {}", folder_, name, reasonText(errno));
      abandon();
      return status;
    }
    (i < modelFiles_ ? files->modelCache : files->dataCache).push_back(std::move(fd));
  }
  return std::shared_ptr<const hal::CacheFiles>(std::move(files));
}

Status CacheSet::publish() {
  if (!replacing_) return badState("no files are being replaced");
  const int at = folderFd_.get();
  // A set without its first file is incomplete. So the first file is removed first and replaced
  // last.
  Status status;
  if (::unlinkat(at, names_.front().c_str(), 0) != 0 && errno != ENOENT) {
    status = opFailed("{}/{}: {}", folder_, names_.front(), reasonText(errno));
  }
  for (size_t i = names_.size(); i > 0 && status.ok(); --i) {
    const std::string& name = names_[i - 1];
    if (::renameat(at, (name + kUnpublished).c_str(), at, name.c_str()) != 0) {
      status = opFailed("{}/{}: {}", folder_, name, reasonText(errno));
    }
  }
  abandon();
  return status;
}

void CacheSet::abandon() {
  if (!replacing_) return;
  for (const std::string& name : names_) {
    (void)::unlinkat(folderFd_.get(), (name + kUnpublished).c_str(), 0);
  }
  replacing_ = false;
  unlock();
}

}  // namespace halyard::runtime

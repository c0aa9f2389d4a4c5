#include "cache/file_access.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/file_size_signal.h"

namespace halyard::cache {
namespace {

// The limit of the kernel for one call.
constexpr size_t kMostAtOnce = size_t{1} << 30;
constexpr std::chrono::microseconds kLongestPause{10000};

}  // namespace

Result<uint64_t> checkFile(int fd, Access access) {
  if (fd < 0) return badData("there is no descriptor");
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return errnoStatus(ResultCode::BAD_DATA, errno, "F_GETFL");
  const int mode = flags & O_ACCMODE;
  const bool reads = mode != O_WRONLY && (flags & O_PATH) == 0;
  if (!reads || (access == Access::READ_WRITE && mode != O_RDWR)) {
    return badData("it is not open for reading{}",
                   access == Access::READ_WRITE ? " and writing" : "");
  }
  struct stat st {};
  if (::fstat(fd, &st) != 0) return errnoStatus(ResultCode::BAD_DATA, errno, "fstat");
  if (!S_ISREG(st.st_mode)) return badData("it is not a regular file");
  return static_cast<uint64_t>(st.st_size);
}

Status readAt(int fd, uint64_t offset, std::span<uint8_t> into) {
  while (!into.empty()) {
    const ssize_t got =
        ::pread(fd, into.data(), std::min(into.size(), kMostAtOnce), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errnoStatus(ResultCode::OP_FAILED, errno, "reading");
    if (got == 0) return opFailed("it ends at byte {}", offset);
    offset += static_cast<uint64_t>(got);
    into = into.subspan(static_cast<size_t>(got));
  }
  return okStatus();
}

Status writeAt(int fd, uint64_t offset, std::span<const uint8_t> bytes) {
  const FileSizeSignalHeld held;
  while (!bytes.empty()) {
    const ssize_t put =
        ::pwrite(fd, bytes.data(), std::min(bytes.size(), kMostAtOnce), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errnoStatus(ResultCode::OP_FAILED, errno, "writing");
    if (put == 0) return opFailed("writing: no byte was taken at {}", offset);
    offset += static_cast<uint64_t>(put);
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return okStatus();
}

Result<FileLock> FileLock::take(int fd, bool exclusive, std::chrono::milliseconds wait) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + wait;
  const int kind = (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
  // flock() has no time limit. A stopped process that holds the lock would block others forever.
  for (std::chrono::microseconds pause{200};; pause = std::min(pause * 2, kLongestPause)) {
    if (::flock(fd, kind) == 0) return FileLock(fd);
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return errnoStatus(ResultCode::OP_FAILED, errno, "flock");
    if (Clock::now() >= end) {
      return opFailed("another process has held its lock for {} ms", wait.count());
    }
    std::this_thread::sleep_for(pause);
  }
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::flock(fd_, LOCK_UN);
}

}  // namespace halyard::cache

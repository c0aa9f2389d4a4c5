#include "cache/file_access.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/file_size_signal.h"
#include "base/foreign_fd.h"

namespace halyard::cache {
namespace {

// The limit of the kernel for one call.
constexpr size_t kMostAtOnce = size_t{1} << 30;
// The size of one call on a file that may not answer.
constexpr size_t kPart = size_t{4} << 20;
constexpr std::chrono::microseconds kLongestPause{10000};

using Bytes = std::vector<uint8_t>;

// Runs `work`, which must own all that it uses if the file may not answer.
Status call(int fd, FileDeadline until, std::function<Status(int fd)> work) {
  using std::chrono::milliseconds;
  if (!couldBlock(fd)) return work(fd);
  const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
  return withForeign(fd, std::move(work),
                     std::clamp<milliseconds>(left, milliseconds(0), kForeignLimit));
}

Result<FileIdentity> examine(int fd) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return errnoStatus(ResultCode::BAD_DATA, errno, "fstat");
  if (!S_ISREG(st.st_mode)) return badData("it is not a regular file");
  return FileIdentity{st.st_dev, st.st_ino, static_cast<uint64_t>(st.st_size)};
}

Status readNow(int fd, uint64_t offset, std::span<uint8_t> into) {
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

Status writeNow(int fd, uint64_t offset, std::span<const uint8_t> bytes) {
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

// Returns 0, or the error number.
int lockNow(int fd, int kind) {
  int error = 0;
  do {
    error = ::flock(fd, kind) == 0 ? 0 : errno;
  } while (error == EINTR);
  return error;
}

}  // namespace

Result<FileIdentity> checkFile(int fd, Access access, FileDeadline until) {
  if (fd < 0) return badData("there is no descriptor");
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return errnoStatus(ResultCode::BAD_DATA, errno, "F_GETFL");
  const int mode = flags & O_ACCMODE;
  const bool reads = mode != O_WRONLY && (flags & O_PATH) == 0;
  if (!reads || (access == Access::READ_WRITE && mode != O_RDWR)) {
    return badData("it is not open for reading{}",
                   access == Access::READ_WRITE ? " and writing" : "");
  }
  const auto found = std::make_shared<FileIdentity>();
  HALYARD_RETURN_IF_ERROR(call(fd, until, [found](int own) -> Status {
    HALYARD_ASSIGN_OR_RETURN(*found, examine(own));
    return okStatus();
  }));
  return *found;
}

Status readAt(int fd, uint64_t offset, std::span<uint8_t> into, FileDeadline until) {
  if (!couldBlock(fd)) return readNow(fd, offset, into);
  for (size_t done = 0; done < into.size();) {
    const auto part = std::make_shared<Bytes>(std::min(kPart, into.size() - done));
    HALYARD_RETURN_IF_ERROR(
        call(fd, until, [part, at = offset + done](int own) { return readNow(own, at, *part); }));
    std::copy(part->begin(), part->end(), into.begin() + static_cast<ptrdiff_t>(done));
    done += part->size();
  }
  return okStatus();
}

Status writeAt(int fd, uint64_t offset, std::span<const uint8_t> bytes, FileDeadline until) {
  if (!couldBlock(fd)) return writeNow(fd, offset, bytes);
  for (size_t done = 0; done < bytes.size();) {
    const auto from = bytes.subspan(done, std::min(kPart, bytes.size() - done));
    const auto part = std::make_shared<const Bytes>(from.begin(), from.end());
    HALYARD_RETURN_IF_ERROR(
        call(fd, until, [part, at = offset + done](int own) { return writeNow(own, at, *part); }));
    done += part->size();
  }
  return okStatus();
}

Status truncate(int fd, FileDeadline until) {
  return call(fd, until, [](int own) {
    if (::ftruncate(own, 0) == 0) return okStatus();
    return errnoStatus(ResultCode::OP_FAILED, errno, "ftruncate");
  });
}

Result<FileLock> FileLock::take(int fd, bool exclusive, std::chrono::milliseconds wait,
                                FileDeadline until) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + wait;
  const int kind = (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
  const auto error = std::make_shared<int>();
  // flock() has no time limit. A stopped process that holds the lock would block others forever.
  for (std::chrono::microseconds pause{200};; pause = std::min(pause * 2, kLongestPause)) {
    HALYARD_RETURN_IF_ERROR(call(fd, until, [error, kind](int own) {
      *error = lockNow(own, kind);
      return okStatus();
    }));
    if (*error == 0) return FileLock(fd);
    if (*error != EWOULDBLOCK) return errnoStatus(ResultCode::OP_FAILED, *error, "flock");
    if (Clock::now() >= end) {
      return opFailed("another process has held its lock for {} ms", wait.count());
    }
    std::this_thread::sleep_for(pause);
  }
}

// The lock belongs to the open file, so any duplicate of the descriptor can release it. A file that
// does not answer keeps its lock, which harms its own users only.
FileLock::~FileLock() {
  if (fd_ < 0) return;
  (void)call(fd_, std::chrono::steady_clock::now(), [](int own) {
    (void)lockNow(own, LOCK_UN);
    return okStatus();
  });
}

}  // namespace halyard::cache

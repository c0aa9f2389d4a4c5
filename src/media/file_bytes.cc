// Reading and writing whole files with plain system calls.
#include "media/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "halyard/driver/unique_fd.h"

namespace halyard::media {
namespace {

Status readError(const std::string& path, int error) {
  return errnoStatus(ResultCode::BAD_DATA, error, fmt::format("cannot read {}", path));
}

}  // namespace

Result<std::vector<uint8_t>> readFileBytes(const std::string& path, size_t limit) {
  // O_NONBLOCK: a FIFO in place of the file is refused below; the call does not wait for it.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return readError(path, errno);
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) return readError(path, errno);
  if (!S_ISREG(info.st_mode)) return badData("cannot read {}: it is not a regular file", path);
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > limit) {
    return badData("{} has {} bytes, more than the {} that are accepted", path, size, limit);
  }
  std::vector<uint8_t> bytes(size);
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(fd.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return readError(path, errno);
    if (count == 0) break;  // another process shortened the file meanwhile
    done += static_cast<size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

Status writeFileBytes(const std::string& path, std::span<const uint8_t> bytes) {
  const std::string what = fmt::format("cannot write {}", path);
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid()) return errnoStatus(ResultCode::OP_FAILED, errno, what);
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errnoStatus(ResultCode::OP_FAILED, errno, what);
    done += static_cast<size_t>(count);
  }
  // Some file systems report a full disk only here.
  if (::close(fd.release()) != 0) return errnoStatus(ResultCode::OP_FAILED, errno, what);
  return okStatus();
}

}  // namespace halyard::media

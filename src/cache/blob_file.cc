#include "cache/blob_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "cache/file_access.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::cache {

FileStamp stampOf(const std::filesystem::path& file) {
  struct stat st {};
  if (::lstat(file.c_str(), &st) != 0) return {};
  return {st.st_dev, st.st_ino, st.st_size, st.st_mtim};
}

Result<std::vector<uint8_t>> readOwnFile(const std::filesystem::path& file, uint64_t mostBytes) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return std::vector<uint8_t>();
  if (!fd.valid()) return errnoStatus(ResultCode::BAD_DATA, errno, "opening");
  HALYARD_ASSIGN_OR_RETURN(const FileIdentity found, checkFile(fd.get(), Access::READ));
  const uint64_t size = found.size;
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return errnoStatus(ResultCode::BAD_DATA, errno, "fstat");
  if (st.st_uid != ::geteuid() || (st.st_mode & 022) != 0) {
    return badData("user {} can write it by mode {:o}, expected user {} alone", st.st_uid,
                   st.st_mode & 0777, ::geteuid());
  }
  if (size > mostBytes) return badData("it has {} bytes, at most {} are read", size, mostBytes);
  std::vector<uint8_t> bytes;
  try {
    bytes.resize(size);
  } catch (const std::bad_alloc&) {
    return makeStatus(ResultCode::OUT_OF_MEMORY, "no memory for {} bytes", size);
  }
  HALYARD_RETURN_IF_ERROR(readAt(fd.get(), 0, bytes));
  return bytes;
}

Status replaceFile(const std::filesystem::path& file, std::span<const uint8_t> bytes) {
  const std::string next = file.string() + ".new";
  // A process that died here left this file.
  if (::unlink(next.c_str()) != 0 && errno != ENOENT) {
    return errnoStatus(ResultCode::OP_FAILED, errno, "removing " + next);
  }
  const UniqueFd fd(
      ::open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return errnoStatus(ResultCode::OP_FAILED, errno, "making " + next);
  Status status = writeAt(fd.get(), 0, bytes);
  if (status.ok() && ::fdatasync(fd.get()) != 0) {
    status = errnoStatus(ResultCode::OP_FAILED, errno, "fdatasync");
  }
  if (status.ok() && ::rename(next.c_str(), file.c_str()) != 0) {
    status = errnoStatus(ResultCode::OP_FAILED, errno, "rename");
  }
  if (!status.ok()) ::unlink(next.c_str());
  return status.annotate(next);
}

}  // namespace halyard::cache

#include "base/file_facts.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>

#include "base/foreign_fd.h"

namespace halyard {
namespace {

Status examineDmaBuf(int fd, FileFacts* facts) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  if (size < 0) return errnoStatus(ResultCode::BAD_DATA, errno, "size of a dma-buf");
  facts->size = static_cast<uint64_t>(size);
  facts->isDmaBuf = true;
  facts->cannotShrink = true;
  return okStatus();
}

// Returns whether the file is on a local file system that needs privileges to mount and always
// answers.
bool isMachinesFileSystem(int fd) {
  struct statfs fs {};
  if (::fstatfs(fd, &fs) != 0) return false;
  constexpr uint64_t kTypes[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                 F2FS_SUPER_MAGIC};
  return std::ranges::find(kTypes, static_cast<uint32_t>(fs.f_type)) != std::end(kTypes);
}

Result<FileFacts> examineNow(int fd) {
  FileFacts facts;
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return errnoStatus(ResultCode::BAD_DATA, errno, "F_GETFL");
  const int access = flags & O_ACCMODE;
  // This check comes first, so that a descriptor that is no file, such as a path in a slow file
  // system, causes no request.
  if ((flags & O_PATH) != 0 || access == O_WRONLY) {
    return badData("its descriptor is not open for reading");
  }
  facts.writable = access == O_RDWR;
  struct statfs fs {};
  if (::fstatfs(fd, &fs) != 0) return errnoStatus(ResultCode::BAD_DATA, errno, "fstatfs");
  if (fs.f_type == DMA_BUF_MAGIC) {
    HALYARD_RETURN_IF_ERROR(examineDmaBuf(fd, &facts));
    return facts;
  }
  // Files of hugetlbfs have seals as well, but an access can still fail there when the huge pages
  // run out.
  const int seals = fs.f_type == TMPFS_MAGIC ? ::fcntl(fd, F_GET_SEALS) : -1;
  // This call follows the query of the seals. A size read before the seals could still change.
  struct stat st {};
  if (::fstat(fd, &st) != 0) return errnoStatus(ResultCode::BAD_DATA, errno, "fstat");
  if (!S_ISREG(st.st_mode)) {
    return badData("its descriptor is neither of a regular file nor of a dma-buf");
  }
  facts.size = static_cast<uint64_t>(st.st_size);
  if (seals >= 0) {
    facts.cannotShrink = (seals & F_SEAL_SHRINK) != 0;
    facts.sealedForWriting = (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0;
    constexpr int kFixed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    facts.isFixed = (seals & kFixed) == kFixed;
  }
  return facts;
}

}  // namespace

Result<FileFacts> examineFile(int fd) {
  if (!couldBlock(fd)) return examineNow(fd);
  struct Found {
    FileFacts facts;
    bool isMachines = false;
  };
  const auto found = std::make_shared<Found>();
  HALYARD_RETURN_IF_ERROR(withForeign(fd, [found](int own) -> Status {
    HALYARD_ASSIGN_OR_RETURN(found->facts, examineNow(own));
    found->isMachines = isMachinesFileSystem(own);
    return okStatus();
  }));
  if (found->isMachines) noteMachinesFile(fd);
  return found->facts;
}

}  // namespace halyard

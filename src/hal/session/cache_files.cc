#include "hal/session/cache_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace halyard::hal {

Status checkEmptyFile(int fd) {
  if (fd < 0) return badData("there is no descriptor, or more than one");
  struct stat st {};
  if (::fstat(fd, &st) != 0) return errnoStatus(ResultCode::BAD_DATA, errno, "fstat");
  if (!S_ISREG(st.st_mode)) return badData("it is not a regular file");
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) != O_RDWR) {
    return badData("it is not open for reading and writing");
  }
  if (st.st_size != 0) return badData("it has {} bytes, expected 0", st.st_size);
  const off_t offset = ::lseek(fd, 0, SEEK_CUR);
  if (offset != 0) return badData("its offset is {}, expected 0", offset);
  return okStatus();
}

}  // namespace halyard::hal

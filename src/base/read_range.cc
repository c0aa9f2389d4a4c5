#include "base/read_range.h"

#include <unistd.h>

#include <cerrno>

namespace halyard {

Status readRange(int fd, uint64_t offset, std::span<uint8_t> to) {
  for (size_t done = 0; done < to.size();) {
    const ssize_t count =
        ::pread(fd, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errnoStatus(ResultCode::BAD_DATA, errno, "cannot be read");
    if (count == 0) {
      return badData("ends after {} of {} bytes from byte {} on; was it truncated?", done,
                     to.size(), offset);
    }
    done += static_cast<size_t>(count);
  }
  return okStatus();
}

}  // namespace halyard

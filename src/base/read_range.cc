#include "base/read_range.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "base/foreign_fd.h"

namespace halyard {
namespace {

// The size of one read from a file that may not answer.
constexpr size_t kPart = size_t{4} << 20;

Status readNow(int fd, uint64_t offset, std::span<uint8_t> to) {
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

}  // namespace

Status readRange(int fd, uint64_t offset, std::span<uint8_t> to) {
  if (!couldBlock(fd)) return readNow(fd, offset, to);
  for (size_t done = 0; done < to.size();) {
    const size_t size = std::min(kPart, to.size() - done);
    const auto part = std::make_shared<std::vector<uint8_t>>(size);
    HALYARD_RETURN_IF_ERROR(
        withForeign(fd, [part, at = offset + done](int own) { return readNow(own, at, *part); }));
    std::memcpy(to.data() + done, part->data(), size);
    done += size;
  }
  return okStatus();
}

}  // namespace halyard

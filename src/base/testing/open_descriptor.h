// Whether a descriptor is open in this process.
// Thread safety: a pure function. Another thread may open the same number meanwhile.
#pragma once

#include <fcntl.h>

namespace halyard::testing {

inline bool isOpen(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

}  // namespace halyard::testing

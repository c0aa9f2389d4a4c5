// Files that a compilation is saved into, before a driver gets them.
// Thread safety: pure functions. Ownership: borrows descriptors.
#pragma once

#include "halyard/driver/status.h"

namespace halyard::hal {

// What a file must be for the early form of caching: there (not -1), regular, open for reading and
// writing, empty, at offset 0. BAD_DATA says what is not so.
Status checkEmptyFile(int fd);

}  // namespace halyard::hal

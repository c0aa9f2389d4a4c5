// Files that a compilation is saved into, before a driver gets them.
// Thread safety: pure functions. Ownership: borrows descriptors.
#pragma once

#include "halyard/driver/hal_types.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

// What a file must be for the early form of caching: there (not -1), regular, open for reading and
// writing, empty, at offset 0. BAD_DATA says what is not so.
Status checkEmptyFile(int fd);

// What a driver may be given to save into: as many files as it wants, or none with a token; each
// regular, open for reading and writing, with any content and offset. BAD_DATA says what is not so.
Status checkFilesToSave(const DeviceInfo& info, const CacheFiles& files);

// The same for files to load from. One file of each kind, which is what the early form of caching
// has, will do as well, however many the driver wants.
Status checkFilesToLoad(const DeviceInfo& info, const CacheFiles& files);

}  // namespace halyard::hal

// Checks the files of a cached compilation before a driver gets them.
// Thread safety: pure functions. Ownership: borrows descriptors.
#pragma once

#include "halyard/driver/hal_types.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

// Checks a file for the early form of caching. It must be a valid descriptor of a regular file,
// open for reading and writing, empty, and at offset 0. BAD_DATA with the reason otherwise.
Status checkEmptyFile(int fd);

// Checks the files into which a driver may save. Their numbers must be those of the driver, or
// there is only a token and no file. Each file must be regular and open for reading and writing,
// with any contents and offset. BAD_DATA with the reason otherwise.
Status checkFilesToSave(const DeviceInfo& info, const CacheFiles& files);

// Does the same for files to load from. One file of each kind is also accepted, for each driver,
// because the early form of caching has these files.
Status checkFilesToLoad(const DeviceInfo& info, const CacheFiles& files);

}  // namespace halyard::hal

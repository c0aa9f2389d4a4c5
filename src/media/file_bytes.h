// Whole files to and from memory, with a limit on what is read.
// Thread safety: pure functions. Ownership: results own their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::media {

// The content of the regular file `path`. BAD_DATA, naming the file, when it cannot be read or has
// more than `limit` bytes; the limit is checked before memory is taken.
Result<std::vector<uint8_t>> readFileBytes(const std::string& path, size_t limit);

// Creates or replaces `path`. OP_FAILED, naming the file, when not everything could be written.
Status writeFileBytes(const std::string& path, std::span<const uint8_t> bytes);

}  // namespace halyard::media

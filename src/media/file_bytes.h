// Reads whole files into memory, up to a limit, and writes them.
// Thread safety: pure functions.
// Ownership: results own their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::media {

// Returns the content of the regular file `path`. Returns BAD_DATA, naming the file, when it is not
// readable or has more than `limit` bytes. The function checks the limit before it allocates
// memory.
Result<std::vector<uint8_t>> readFileBytes(const std::string& path, size_t limit);

// Creates or replaces `path`. Returns OP_FAILED, naming the file, after an incomplete write.
Status writeFileBytes(const std::string& path, std::span<const uint8_t> bytes);

}  // namespace halyard::media

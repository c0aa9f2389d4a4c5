// Reads a part of a file.
// Thread safety: a pure function; it does not use the descriptor's position.
// Ownership: all is borrowed.
#pragma once

#include <cstdint>
#include <span>

#include "halyard/driver/status.h"

namespace halyard {

// Fills `to` with the bytes of the file from `offset` on. Returns BAD_DATA when the file is too
// short or unreadable. Returns RESOURCE_EXHAUSTED_TRANSIENT when another process provides the file
// and does not answer.
Status readRange(int fd, uint64_t offset, std::span<uint8_t> to);

}  // namespace halyard

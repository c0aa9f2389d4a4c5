// Reading a part of a file.
// Thread safety: a pure function; the descriptor's position is not used. Ownership: all is
// borrowed.
#pragma once

#include <cstdint>
#include <span>

#include "halyard/driver/status.h"

namespace halyard {

// Fills `to` with what is from byte `offset` of the file on. BAD_DATA when the file ends before, or
// cannot be read; RESOURCE_EXHAUSTED_TRANSIENT when it is another process's and does not answer.
Status readRange(int fd, uint64_t offset, std::span<uint8_t> to);

}  // namespace halyard

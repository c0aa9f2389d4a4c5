// Copies of parts of a file in private memory, for who must not be ended by a file that becomes
// shorter under its mapping. Thread safety: a pure function. Ownership: the mapping owns its
// memory.
#pragma once

#include <cstdint>
#include <span>

#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"

namespace halyard {

// Bytes [begin, end) of a memory.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// As `memory` would be mapped: of its size, and as far from the beginning of a page as it is in
// its file, so that what is aligned in the file is aligned in the copy. It holds what the ranges,
// which must be within it, have; all else are zeros that take no memory. A small one is on the
// heap: Mapping::isOnHeap. UNMAPPABLE when there is no memory or the file ends before.
Result<Mapping> privateCopyOf(const SharedMemory& memory, std::span<const ByteRange> ranges);
// Fills `to` with the bytes of `range`, which is as long. UNMAPPABLE when the file ends before.
Status readPart(const SharedMemory& memory, const ByteRange& range, std::span<uint8_t> to);
// Adds another range to a copy. Errors as above.
Status readIntoCopy(const SharedMemory& memory, const ByteRange& range, const Mapping& copy);

}  // namespace halyard

// Copies of parts of a file in private memory. A file that becomes shorter under its mapping would
// end the process; a copy avoids this.
// Thread safety: a pure function.
// Ownership: the mapping owns its memory.
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

// Returns a copy that looks like the mapping of `memory`. It has the same size and the same offset
// in its page, so that aligned data of the file is aligned in the copy. It holds the bytes of the
// ranges, which must lie in the memory. All other bytes are zeros that take no memory. A small copy
// is on the heap (Mapping::isOnHeap). Returns UNMAPPABLE when there is not enough memory or the
// file ends too early.
Result<Mapping> privateCopyOf(const SharedMemory& memory, std::span<const ByteRange> ranges);
// Fills `to` with the bytes of `range`, which has the same length. Returns UNMAPPABLE when the file
// ends too early.
Status readPart(const SharedMemory& memory, const ByteRange& range, std::span<uint8_t> to);
// Adds another range to a copy. The errors are those above.
Status readIntoCopy(const SharedMemory& memory, const ByteRange& range, const Mapping& copy);

}  // namespace halyard

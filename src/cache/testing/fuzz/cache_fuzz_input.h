// Runs one input of the fuzzer of cache files and of files of blobs.
// Thread safety: one thread at a time. Ownership: a folder with a store, for the life of the
// process.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::cache::fuzz {

// The first byte says what the others are:
//   0  edits to the two files of a saved compilation, which is then loaded: what was saved, or an
//      error, and an error whenever a byte is another
//   1  a file of blobs, raw
//   2  blobs as a well-formed file has them, and edits to it
//   3  files as `halyard cache verify` finds them: heads with a right digest over any fields
// Ends the process when what must hold does not.
void runCacheFuzzInput(std::span<const uint8_t> bytes);

}  // namespace halyard::cache::fuzz

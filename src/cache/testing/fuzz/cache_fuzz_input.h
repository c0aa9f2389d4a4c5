// Runs one input of the fuzzer of cache files and blob files.
// Thread safety: one thread at a time.
// Ownership: a folder with a store, until the process ends.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::cache::fuzz {

// The first byte selects the kind of the others:
//   0  edits to the two files of a saved compilation. Loading them gives the saved content or an
//      error, and always an error if a byte differs.
//   1  a file of blobs, raw.
//   2  blobs in a well-formed file, and edits to it.
//   3  files for `halyard cache verify`: heads with a correct digest over any fields.
// Ends the process when a rule is broken.
void runCacheFuzzInput(std::span<const uint8_t> bytes);

}  // namespace halyard::cache::fuzz

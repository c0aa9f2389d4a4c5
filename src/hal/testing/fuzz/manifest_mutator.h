// Mutations of driver manifests that keep them JSON, for the fuzzer: bytes alone seldom make a
// field of another kind where one is read. Thread safety: pure function. Ownership: results own
// their text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace halyard::hal::fuzz {

// One to three changes of values, fields and nesting, by the seed. Empty when the text is no JSON.
std::string mutateManifest(std::string_view text, uint32_t seed);

}  // namespace halyard::hal::fuzz

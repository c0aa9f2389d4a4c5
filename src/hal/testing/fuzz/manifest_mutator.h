// Changes driver manifests so that they remain JSON, for the fuzzer. Random bytes alone rarely
// change the type of a field.
// Thread safety: pure function. Ownership: results own their text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace halyard::hal::fuzz {

// Makes one to three changes of values, fields and nesting. The seed determines them. Empty when
// the text is not JSON, or is nested too deep.
std::string mutateManifest(std::string_view text, uint32_t seed);

}  // namespace halyard::hal::fuzz

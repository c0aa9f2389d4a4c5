// The warning about an environment variable whose value has no meaning.
// Thread safety: any thread. Ownership: none.
#pragma once

#include <string_view>

namespace halyard {

// Writes a warning, once in a process for each variable and value. `expected` describes the values
// that have an effect, such as "one of: quiet, info".
void warnOfValue(std::string_view variable, std::string_view value, std::string_view expected);

}  // namespace halyard

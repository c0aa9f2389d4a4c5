// Text from files, made safe for a terminal.
// Thread safety: a pure function. Ownership: the result owns its text.
#pragma once

#include <string>
#include <string_view>

namespace halyard::report {

// `text` with '?' for each control character, which names and labels from files may contain: a
// terminal obeys them.
std::string printable(std::string_view text);

}  // namespace halyard::report

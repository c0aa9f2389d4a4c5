// shellWord: a text as one word of a POSIX shell, for commands that a user repeats.
// Thread safety: a pure function. Ownership: the caller owns the result.
#pragma once

#include <string>
#include <string_view>

namespace halyard {

// Quotes the text where a shell would change it.
std::string shellWord(std::string_view text);

}  // namespace halyard

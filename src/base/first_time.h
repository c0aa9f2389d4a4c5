// firstTime: whether a text comes for the first time in the process, so that what goes wrong again
// and again is told once.
// Thread safety: any thread, also while the process ends. Ownership: keeps digests of the texts.
#pragma once

#include <string_view>

namespace halyard {

// Remembers the last 1000 texts or so; an older one may count as new again.
bool firstTime(std::string_view text);

}  // namespace halyard

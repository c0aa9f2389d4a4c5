// firstTime: tells whether a text occurs for the first time in the process. A repeated problem is
// then reported once.
// Thread safety: any thread, also while the process ends.
// Ownership: keeps digests of the texts.
#pragma once

#include <string_view>

namespace halyard {

// Remembers about the last 1000 texts. An older text may count as new again.
bool firstTime(std::string_view text);

}  // namespace halyard

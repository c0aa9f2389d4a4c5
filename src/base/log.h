// Warnings for people on standard error.
// Thread safety: any thread. Ownership: none.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace halyard {

// One line "halyard: warning: ..." unless the environment says HALYARD_LOG=quiet. For what goes on
// but differently than asked, such as a fallback; errors are Status values.
template <typename... Args>
void logWarning(fmt::format_string<Args...> format, Args&&... args) {
  const char* level = std::getenv("HALYARD_LOG");
  if (level != nullptr && std::string_view(level) == "quiet") return;
  // One call, so that lines of several threads and processes stay whole.
  const std::string line =
      "halyard: warning: " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace halyard

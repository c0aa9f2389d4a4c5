// Messages for people on standard error.
// Thread safety: any thread. Ownership: none.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "base/environment.h"

namespace halyard {

// What the environment variable HALYARD_LOG asks for: "quiet", "info", or else warnings.
inline bool logLevelIs(std::string_view wanted) {
  const char* level = environmentVariable("HALYARD_LOG");
  return level != nullptr && level == wanted;
}

// One line "halyard: KIND: TEXT". One call, so that lines of several threads and processes stay
// whole.
inline void writeLogLine(std::string_view kind, const std::string& text) {
  const std::string line = fmt::format("halyard: {}: {}\n", kind, text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

// Unless HALYARD_LOG=quiet. For what goes on but differently than asked, such as a fallback; errors
// are Status values.
template <typename... Args>
void logWarning(fmt::format_string<Args...> format, Args&&... args) {
  if (!logLevelIs("quiet"))
    writeLogLine("warning", fmt::format(format, std::forward<Args>(args)...));
}

// With HALYARD_LOG=info only. For figures that help to understand what has been done.
template <typename... Args>
void logInfo(fmt::format_string<Args...> format, Args&&... args) {
  if (logLevelIs("info")) writeLogLine("info", fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace halyard

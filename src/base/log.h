// Messages to users on standard error.
// Thread safety: any thread.
// Ownership: none.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "base/environment.h"

namespace halyard {

// Returns whether the environment variable HALYARD_LOG has this value: "quiet" or "info". The
// default is warnings.
inline bool logLevelIs(std::string_view wanted) {
  const char* level = environmentVariable("HALYARD_LOG");
  return level != nullptr && level == wanted;
}

// Writes one line "halyard: KIND: TEXT". It uses a single call, so that the lines of several
// threads and processes do not mix.
inline void writeLogLine(std::string_view kind, const std::string& text) {
  const std::string line = fmt::format("halyard: {}: {}\n", kind, text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

// Writes a warning unless HALYARD_LOG=quiet. A warning reports work that goes on in another way
// than requested, such as a fallback. Errors are Status values.
template <typename... Args>
void logWarning(fmt::format_string<Args...> format, Args&&... args) {
  if (!logLevelIs("quiet"))
    writeLogLine("warning", fmt::format(format, std::forward<Args>(args)...));
}

// Writes only with HALYARD_LOG=info. For figures that explain what the library has done.
template <typename... Args>
void logInfo(fmt::format_string<Args...> format, Args&&... args) {
  if (logLevelIs("info")) writeLogLine("info", fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace halyard

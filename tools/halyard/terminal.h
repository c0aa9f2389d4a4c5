// Writes text to standard output and reports errors (a full disk, a closed pipe).
// Thread safety: as stdio. Ownership: none.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "halyard/driver/status.h"
#include "report/printable.h"

namespace halyard::cli {

// Buffered; stdio keeps errors until flushOutput() reports them.
void writeOutput(std::string_view text);

template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  writeOutput(fmt::format(format, std::forward<Args>(args)...));
}

// OP_FAILED when any earlier output was not written.
Status flushOutput();

using report::printable;

// The text that an object of JSON has under a key.
template <typename Json>
std::string printableMember(const Json& object, const char* key) {
  return printable(object.at(key).template get<std::string>());
}

}  // namespace halyard::cli

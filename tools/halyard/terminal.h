// Text to standard output, with errors that are noticed (a full disk, a closed pipe).
// Thread safety: as stdio. Ownership: none.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "halyard/driver/status.h"
#include "report/printable.h"

namespace halyard::cli {

// Buffered; errors are kept by stdio until flushOutput() reports them.
void writeOutput(std::string_view text);

template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  writeOutput(fmt::format(format, std::forward<Args>(args)...));
}

// OP_FAILED when any part of the output so far could not be written.
Status flushOutput();

using report::printable;

}  // namespace halyard::cli

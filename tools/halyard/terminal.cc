// Standard output through stdio, whose error flag shows whether all output was written.
#include "tools/halyard/terminal.h"

#include <cerrno>
#include <cstdio>

namespace halyard::cli {

void writeOutput(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

Status flushOutput() {
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  if (flushed && std::ferror(stdout) == 0) return okStatus();
  return errnoStatus(ResultCode::OP_FAILED, flushed ? EIO : error, "cannot write the output");
}

}  // namespace halyard::cli

// Fuzzes the check of the header of an HTTP request.
#include <cstdlib>

#include "serve/http/header_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using halyard::serve::HeaderCheck;
  constexpr size_t kMost = 4096;
  HeaderCheck check(kMost);
  size_t taken = 0;
  while (taken < size && !check.hasEnded()) {
    if (!check.take(static_cast<char>(data[taken]))) break;
    ++taken;
  }
  // A header ends with an empty line or has a fault, and only then is there a length.
  const bool isFaulty = !check.fault().empty();
  if (taken > kMost || (isFaulty && check.hasEnded())) std::abort();
  if (check.bodyLength() && !check.hasEnded()) std::abort();
  if (check.hasEnded() && (data[taken - 1] != '\n' || data[taken - 2] != '\r')) std::abort();
  return 0;
}

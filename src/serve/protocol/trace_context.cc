#include "serve/protocol/trace_context.h"

#include <algorithm>

namespace halyard::serve {
namespace {

bool isId(std::string_view text) {
  const auto isHexadecimal = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  };
  return std::ranges::all_of(text, isHexadecimal) &&
         text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

// VERSION-TRACE-SPAN-FLAGS with 2, 32, 16 and 2 digits. A later version may have more behind them.
std::string traceOf(std::string_view traceparent) {
  constexpr size_t kTrace = 3;
  constexpr size_t kSpan = 36;
  constexpr size_t kLength = 55;
  if (traceparent.size() < kLength || traceparent[2] != '-' || traceparent[kSpan - 1] != '-' ||
      traceparent[kSpan + 16] != '-') {
    return "";
  }
  const std::string_view trace = traceparent.substr(kTrace, 32);
  const std::string_view span = traceparent.substr(kSpan, 16);
  if (!isId(trace) || !isId(span)) return "";
  return std::string(traceparent.substr(kTrace, 49));
}

}  // namespace halyard::serve

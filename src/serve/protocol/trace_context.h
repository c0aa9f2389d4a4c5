// The trace that a request belongs to, by the recommendation W3C Trace Context.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <string>
#include <string_view>

namespace halyard::serve {

// The trace and the span of a `traceparent`, "TRACE-SPAN" in hexadecimal. Empty for a value that is
// none, since its text comes from the network and goes into files.
std::string traceOf(std::string_view traceparent);

}  // namespace halyard::serve

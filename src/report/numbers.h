// Numbers as people read them.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <string>

namespace halyard::report {

// Three significant digits, without an exponent where 3 to 6 places do: "0.0123", "1.23", "123",
// "12300", "1.2e+09". "0" for 0, "-" for what is not finite.
std::string shortNumber(double value);

// "12.3 ms", in ns, us, ms or s, whichever is nearest above 1.
std::string durationText(double milliseconds);

// "12.3 MiB", in bytes, KiB, MiB or GiB.
std::string bytesText(double bytes);

// "12.3 %" of a share of 1, one place behind the point.
std::string percentText(double share);

}  // namespace halyard::report

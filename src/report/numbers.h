// Numbers formatted for readers.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <string>

namespace halyard::report {

// Formats three significant digits, without an exponent where 3 to 6 places suffice: "0.0123",
// "1.23", "123", "12300", "1.2e+09". Returns "0" for 0, "-" for infinities and NaN.
std::string shortNumber(double value);

// Returns a text such as "12.3 ms" in ns, us, ms or s. The number is the smallest one that is at
// least 1.
std::string durationText(double milliseconds);

// Returns a text such as "12.3 MiB" in bytes, KiB, MiB or GiB.
std::string bytesText(double bytes);

// Formats a share (1 is all) with one decimal place: "12.3 %".
std::string percentText(double share);

}  // namespace halyard::report

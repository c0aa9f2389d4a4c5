#include "report/numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace halyard::report {
namespace {

// Formats the value in the first unit that is not larger than the value.
template <size_t N>
std::string inUnits(double value, const std::pair<double, const char*> (&units)[N]) {
  for (const auto& [size, name] : units) {
    if (std::abs(value) >= size) return fmt::format("{} {}", shortNumber(value / size), name);
  }
  return fmt::format("{} {}", shortNumber(value / units[N - 1].first), units[N - 1].second);
}

}  // namespace

std::string shortNumber(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  // Rounding comes first: 9.999 then has as many digits as 10.0.
  const double rounded = std::stod(fmt::format("{:.2e}", value));
  const auto magnitude = static_cast<int>(std::floor(std::log10(std::abs(rounded))));
  if (magnitude < -4 || magnitude > 6) return fmt::format("{:.2g}", value);
  if (magnitude >= 2) return fmt::format("{:.0f}", rounded);
  return fmt::format("{:.{}f}", rounded, 2 - magnitude);
}

std::string durationText(double milliseconds) {
  return inUnits(milliseconds, {{1000.0, "s"}, {1.0, "ms"}, {1e-3, "us"}, {1e-6, "ns"}});
}

std::string bytesText(double bytes) {
  constexpr double kKiB = 1024;
  return inUnits(
      bytes, {{kKiB * kKiB * kKiB, "GiB"}, {kKiB * kKiB, "MiB"}, {kKiB, "KiB"}, {1.0, "bytes"}});
}

std::string percentText(double share) {
  if (!std::isfinite(share)) return "-";
  return fmt::format("{:.1f} %", share * 100);
}

}  // namespace halyard::report

// Conversions of error statuses, texts and times that processes exchange, independent of the wire.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "halyard/driver/hal_types.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

// Longer texts from a peer are cut.
inline constexpr size_t kMaxTextBytes = 4096;

// Returns the HAL's ErrorStatus for a status, as an answer of a method of `version`. Versions
// before 1.3 have fewer codes.
uint32_t errorStatusOf(const Status& status, HalVersion version);
// Converts back. An error without text gets one. An invalid ErrorStatus becomes OP_FAILED.
Status statusOfError(uint32_t errorStatus, std::string_view message);

// Returns a peer's text in printable form: cut to kMaxTextBytes, without control characters, valid
// UTF-8.
std::string safeText(std::string_view text);

// The wire has microseconds, and all bits set for unmeasured times. Here times are nanoseconds.
inline uint64_t wireDuration(const std::optional<uint64_t>& nanoseconds) {
  return nanoseconds ? *nanoseconds / 1000 : std::numeric_limits<uint64_t>::max();
}
inline std::optional<uint64_t> durationOfWire(uint64_t microseconds) {
  if (microseconds > std::numeric_limits<uint64_t>::max() / 1000) return std::nullopt;
  return microseconds * 1000;
}

}  // namespace halyard::hal

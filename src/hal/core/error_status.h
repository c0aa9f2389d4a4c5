// What travels between processes without its form on a wire: error statuses, texts, times.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "halyard/driver/hal_types.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

// Texts from a peer are cut here.
inline constexpr size_t kMaxTextBytes = 4096;

// The HAL's ErrorStatus for a status, as a method of `version` answers it: before 1.3 there are
// fewer.
uint32_t errorStatusOf(const Status& status, HalVersion version);
// The other direction. An error answered without text gets one; a value that is no ErrorStatus is
// OP_FAILED.
Status statusOfError(uint32_t errorStatus, std::string_view message);

// A peer's text as it may be shown: cut to kMaxTextBytes, without control characters, valid UTF-8.
std::string safeText(std::string_view text);

// Microseconds on the wire, all bits set for what was not measured; nanoseconds here.
inline uint64_t wireDuration(const std::optional<uint64_t>& nanoseconds) {
  return nanoseconds ? *nanoseconds / 1000 : std::numeric_limits<uint64_t>::max();
}
inline std::optional<uint64_t> durationOfWire(uint64_t microseconds) {
  if (microseconds > std::numeric_limits<uint64_t>::max() / 1000) return std::nullopt;
  return microseconds * 1000;
}

}  // namespace halyard::hal

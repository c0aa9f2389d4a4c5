#include "hal/core/error_status.h"

#include <algorithm>
#include <iterator>

namespace halyard::hal {
namespace {

// The HAL's ErrorStatus, by number.
constexpr ResultCode kCodes[] = {
    ResultCode::NO_ERROR,
    ResultCode::UNAVAILABLE_DEVICE,
    ResultCode::OP_FAILED,
    ResultCode::OUTPUT_INSUFFICIENT_SIZE,
    ResultCode::BAD_DATA,
    ResultCode::MISSED_DEADLINE_TRANSIENT,
    ResultCode::MISSED_DEADLINE_PERSISTENT,
    ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
    ResultCode::RESOURCE_EXHAUSTED_PERSISTENT,
};
constexpr uint32_t kGeneralFailure = 2;
constexpr uint32_t kInvalidArgument = 4;
constexpr uint32_t kLastBefore13 = kInvalidArgument;

// Returns the length of the UTF-8 sequence at the start of `text`, 0 if it is invalid.
size_t utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  size_t length = 0;
  uint32_t minimum = 0;
  uint32_t value = byte(0);
  if (value < 0x80) return 1;
  if ((value & 0xe0) == 0xc0) {
    length = 2, minimum = 0x80, value &= 0x1f;
  } else if ((value & 0xf0) == 0xe0) {
    length = 3, minimum = 0x800, value &= 0x0f;
  } else if ((value & 0xf8) == 0xf0) {
    length = 4, minimum = 0x10000, value &= 0x07;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = (value << 6) | (byte(i) & 0x3fu);
  }
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  return value < minimum || value > 0x10ffff || surrogate ? 0 : length;
}

}  // namespace

uint32_t errorStatusOf(const Status& status, HalVersion version) {
  if (status.code() == ResultCode::UNEXPECTED_NULL) return kInvalidArgument;
  const auto* const at = std::find(std::begin(kCodes), std::end(kCodes), status.code());
  if (at == std::end(kCodes)) return kGeneralFailure;
  const auto number = static_cast<uint32_t>(at - std::begin(kCodes));
  return version < HalVersion::V1_3 && number > kLastBefore13 ? kGeneralFailure : number;
}

Status statusOfError(uint32_t errorStatus, std::string_view message) {
  if (errorStatus >= std::size(kCodes)) {
    return opFailed("the driver answered {}, which is no error status", errorStatus);
  }
  const ResultCode code = kCodes[errorStatus];
  if (code == ResultCode::NO_ERROR) return okStatus();
  std::string text = safeText(message);
  if (text.empty()) text = "the driver gives no reason";
  return Status(code, std::move(text));
}

std::string safeText(std::string_view text) {
  std::string_view rest = text.substr(0, kMaxTextBytes);
  std::string safe;
  safe.reserve(rest.size());
  while (!rest.empty()) {
    const size_t length = utf8Length(rest);
    const auto first = static_cast<unsigned char>(rest[0]);
    if (length == 0 || first == 0x7f || (first < 0x20 && first != '\n')) {
      safe += '?';
    } else {
      safe += rest.substr(0, length);
    }
    rest.remove_prefix(std::max<size_t>(length, 1));
  }
  return safe;
}

}  // namespace halyard::hal

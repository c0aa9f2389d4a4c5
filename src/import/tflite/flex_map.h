// FlexMap: the numbers of a FlexBuffers map, which holds the options of custom operators.
// Thread safety: a value.
// Ownership: copies the values that it reads.
//
// These buffers come from untrusted files. The library's own reader trusts its buffer, and its
// verifier (2.0.8) accepts unterminated keys and unaligned numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::import {

class FlexMap {
 public:
  // Returns BAD_DATA when the bytes are not a map, or when an offset or length in them is wrong.
  // Ignores values that are not numbers or booleans.
  static Result<FlexMap> parse(std::span<const uint8_t> bytes);

  // A boolean counts as 0 or 1. Returns nullopt when the key is absent or its value is no number.
  std::optional<double> number(std::string_view key) const;

 private:
  std::map<std::string, double, std::less<>> numbers_;
};

}  // namespace halyard::import

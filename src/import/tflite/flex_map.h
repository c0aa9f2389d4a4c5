// FlexMap: the numbers of a FlexBuffers map, as custom operators keep their options.
// Thread safety: a value.
// Ownership: copies what it reads.
//
// The library's own reader trusts its buffer, and its verifier (2.0.8) lets unterminated keys and
// unaligned numbers pass; these buffers come from files that nobody vouches for.
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
  // BAD_DATA when the bytes are not a map, or when an offset or length in them does not hold.
  // Values that are not numbers or booleans are left out.
  static Result<FlexMap> parse(std::span<const uint8_t> bytes);

  // A boolean counts as 0 or 1. nullopt when the key is absent or its value is no number.
  std::optional<double> number(std::string_view key) const;

 private:
  std::map<std::string, double, std::less<>> numbers_;
};

}  // namespace halyard::import

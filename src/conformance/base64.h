// Base64 as in RFC 4648 section 4.
// Thread safety: a pure function. Ownership: none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::conformance {

// Returns the bytes of a padded base64 text. Returns nullopt for an invalid text. It has other
// characters, padding in the middle, or set bits that belong to no byte, or its length is no
// multiple of 4.
std::optional<std::vector<uint8_t>> decodeBase64(std::string_view text);

// Returns the padded text for these bytes.
std::string encodeBase64(std::span<const uint8_t> bytes);

}  // namespace halyard::conformance

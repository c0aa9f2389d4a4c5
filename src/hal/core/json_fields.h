// Checks fields of manifests. Errors name the field, the expected and the actual value.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::hal {

// Returns BAD_DATA unless `right`; `expected` is a text such as "an object".
inline Status checkKind(const nlohmann::json& value, bool right, std::string_view field,
                        std::string_view expected) {
  if (right) return okStatus();
  return badData("field '{}' is a {}, not {}", field, value.type_name(), expected);
}

// Reads a whole number from `least` to `most`.
inline Result<uint64_t> numberField(const nlohmann::json& value, const std::string& field,
                                    uint64_t least, uint64_t most) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() < least ||
      value.get<uint64_t>() > most) {
    return badData("field '{}' is {}, expected a number from {} to {}", field, value.dump(), least,
                   most);
  }
  return value.get<uint64_t>();
}

}  // namespace halyard::hal

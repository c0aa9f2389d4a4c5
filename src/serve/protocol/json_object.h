// JSON objects of clients, with bounded nesting and a known cost of memory.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::serve {

// An upper bound of the bytes of memory that the parsed text takes, and the tensors made of it.
// The text may be no JSON at all.
uint64_t memoryOfJson(std::string_view text);

// BAD_DATA for a text that is no JSON, no object, or nested deeper than 32. The time grows as the
// length of any text.
Result<nlohmann::json> parseJsonObject(std::string_view text);

}  // namespace halyard::serve

// Elements of tensors as JSON arrays.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "serve/protocol/datatype.h"

namespace halyard::serve {

// The bytes of a flat or nested array of `count` elements, in the form of the binary extension.
// BAD_DATA for:
// - another number of elements, or an array nested deeper than 16
// - an element of another kind, or beyond the range of the type
// - FP16 and BF16, which have no JSON form
Result<std::vector<uint8_t>> bytesOfJson(const nlohmann::json& data, Datatype datatype,
                                         uint64_t count);

// Appends the elements as a flat JSON array. BAD_DATA for FP16 and BF16, and for NaN and
// infinities.
Status appendJson(Datatype datatype, std::span<const uint8_t> bytes, std::string& to);

}  // namespace halyard::serve

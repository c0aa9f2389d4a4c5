// Type rows that many operations share: one main type, with a feature level per type.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "model/signature.h"

namespace halyard::ops {

// Returns a signature's rows with a single column: {{OperandType::TENSOR_FLOAT32,
// FeatureLevel::FL1}, ...}.
std::vector<TypeRow> singleTypeRows(
    std::initializer_list<std::pair<OperandType, FeatureLevel>> types);

// Returns the most common set: float32 and quant8 (unsigned) from `since`, float16 from level 3 and
// signed quant8 from level 4.
std::vector<TypeRow> floatAndQuant8Rows(FeatureLevel since);

// Returns these and int32, each from `since` or from the level that introduced its type.
std::vector<TypeRow> floatInt32AndQuant8Rows(FeatureLevel since);

}  // namespace halyard::ops

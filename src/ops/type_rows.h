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
inline std::vector<TypeRow> singleTypeRows(
    std::initializer_list<std::pair<OperandType, FeatureLevel>> types) {
  std::vector<TypeRow> rows;
  for (const auto& [type, since] : types) rows.push_back({since, {type}});
  return rows;
}

// Returns the most common set: float32 and quant8 (unsigned) from `since`, float16 from level 3 and
// signed quant8 from level 4.
inline std::vector<TypeRow> floatAndQuant8Rows(FeatureLevel since) {
  return singleTypeRows({{OperandType::TENSOR_FLOAT32, since},
                         {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3},
                         {OperandType::TENSOR_QUANT8_ASYMM, since},
                         {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, FeatureLevel::FL4}});
}

// Returns these and int32, each from `since` or from the level that introduced its type.
inline std::vector<TypeRow> floatInt32AndQuant8Rows(FeatureLevel since) {
  const FeatureLevel signedSince = since < FeatureLevel::FL4 ? FeatureLevel::FL4 : since;
  const FeatureLevel halfSince = since < FeatureLevel::FL3 ? FeatureLevel::FL3 : since;
  return singleTypeRows({{OperandType::TENSOR_FLOAT32, since},
                         {OperandType::TENSOR_FLOAT16, halfSince},
                         {OperandType::TENSOR_INT32, since},
                         {OperandType::TENSOR_QUANT8_ASYMM, since},
                         {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, signedSince}});
}

}  // namespace halyard::ops

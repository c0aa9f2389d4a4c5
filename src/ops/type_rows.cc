// Type rows that many operations share.
#include "ops/type_rows.h"

namespace halyard::ops {

std::vector<TypeRow> singleTypeRows(
    std::initializer_list<std::pair<OperandType, FeatureLevel>> types) {
  std::vector<TypeRow> rows;
  for (const auto& [type, since] : types) rows.push_back({since, {type}});
  return rows;
}

std::vector<TypeRow> floatAndQuant8Rows(FeatureLevel since) {
  return singleTypeRows({{OperandType::TENSOR_FLOAT32, since},
                         {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3},
                         {OperandType::TENSOR_QUANT8_ASYMM, since},
                         {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, FeatureLevel::FL4}});
}

std::vector<TypeRow> floatInt32AndQuant8Rows(FeatureLevel since) {
  const FeatureLevel signedSince = since < FeatureLevel::FL4 ? FeatureLevel::FL4 : since;
  const FeatureLevel halfSince = since < FeatureLevel::FL3 ? FeatureLevel::FL3 : since;
  return singleTypeRows({{OperandType::TENSOR_FLOAT32, since},
                         {OperandType::TENSOR_FLOAT16, halfSince},
                         {OperandType::TENSOR_INT32, since},
                         {OperandType::TENSOR_QUANT8_ASYMM, since},
                         {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, signedSince}});
}

}  // namespace halyard::ops

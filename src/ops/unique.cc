// UNIQUE of the extension halyard.tflite: the distinct elements of a list, and for each element the
// place of its value among them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// The bytes of the distinct elements in the order of their first occurrence, and the place of each
// element's value among them.
struct Distinct {
  std::vector<uint32_t> values;
  std::vector<int32_t> places;
};

// NaN equals no number, not even itself.
template <typename T>
Distinct distinctOf(const Tensor& input) {
  const T* const elements = input.as<T>();
  std::map<T, int32_t> known;
  Distinct found;
  for (size_t i = 0; i < input.elementCount(); ++i) {
    auto place = static_cast<int32_t>(found.values.size());
    // NaN has no place in the order of a map.
    const bool isNumber = elements[i] == elements[i];
    if (isNumber) place = known.emplace(elements[i], place).first->second;
    if (static_cast<size_t>(place) == found.values.size()) {
      std::memcpy(&found.values.emplace_back(), elements + i, sizeof(T));
    }
    found.places.push_back(place);
  }
  return found;
}

// The number of results depends on the values.
Status infer(OperationContext& context) {
  const Tensor& input = context.input(0);
  HALYARD_RETURN_IF_ERROR(checkRank(input, 1, 1, "input"));
  context.output(1).dims = input.dims;
  if (input.data == nullptr) {
    return makeStatus(ResultCode::INCOMPLETE, "the value of input 0 is not known yet");
  }
  Distinct found = input.type == OperandType::TENSOR_INT32 ? distinctOf<int32_t>(input)
                                                           : distinctOf<float>(input);
  context.output(0).dims = {static_cast<uint32_t>(found.values.size())};
  context.findings() = std::move(found);
  return okStatus();
}

Status compute(OperationContext& context) {
  if (!context.findings().has_value()) HALYARD_RETURN_IF_ERROR(infer(context));
  const auto& found = *std::any_cast<Distinct>(&context.findings());
  std::memcpy(context.output(0).data, found.values.data(), found.values.size() * sizeof(uint32_t));
  std::memcpy(context.output(1).data, found.places.data(), found.places.size() * sizeof(int32_t));
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::UNIQUE;
  definition.signature.rows = singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL3},
                                              {OperandType::TENSOR_INT32, FeatureLevel::FL3}});
  definition.signature.forms = {{"", {typed("input", 0, rank(1)).withRankOfComputation()}, {}}};
  definition.signature.outputs = {typed("values", 0), fixed("places", OperandType::TENSOR_INT32)};
  definition.infer = infer;
  definition.reference = compute;
  definition.precision = Precision::EXACT;
  return definition;
}

}  // namespace

const OperationDefinition& unique() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops

// The floats become values of the model.
#include "cpu/folded_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cpu/execution_plan.h"
#include "halyard/driver/constants.h"

namespace halyard::cpu {
namespace {

constexpr size_t kAlignment = 64;

bool mayFold(const Model& model) {
  return std::ranges::any_of(model.main.operations, [&](const Operation& operation) {
    if (operation.inputs.size() != 1) return false;
    const Operand& from = model.main.operands[operation.inputs[0]];
    return isConstant(from) && isFoldable(operation.type, from.type);
  });
}

void appendValues(Model* model, Operand* operand, const ops::Tensor& tensor) {
  std::vector<uint8_t>& values = model->operandValues;
  values.resize((values.size() + kAlignment - 1) / kAlignment * kAlignment);
  const size_t bytes = byteSizeOf(tensor);
  operand->lifetime = Lifetime::CONSTANT_COPY;
  operand->dimensions = tensor.dims;
  operand->location = {0, static_cast<uint32_t>(values.size()), static_cast<uint32_t>(bytes)};
  const auto* const from = tensor.as<uint8_t>();
  values.insert(values.end(), from, from + bytes);
}

}  // namespace

Result<std::shared_ptr<const Model>> withFoldedConstants(std::shared_ptr<const Model> model) {
  if (!mayFold(*model)) return model;
  HALYARD_ASSIGN_OR_RETURN(
      const ExecutionPlan plan,
      ExecutionPlan::make(model, ConstantReading::ALL, /*placesTemporaries=*/false));
  size_t end = model->operandValues.size();
  for (size_t i = 0; i < model->main.operations.size(); ++i) {
    if (!plan.main.isFolded[i]) continue;
    const uint32_t made = model->main.operations[i].outputs[0];
    end += byteSizeOf(plan.main.tensors[made]) + kAlignment;
  }
  // Locations have 32 bits.
  if (end > std::numeric_limits<uint32_t>::max()) return model;
  auto result = std::make_shared<Model>(*model);
  result->operandValues.reserve(end);
  result->main.operations.clear();
  for (size_t i = 0; i < model->main.operations.size(); ++i) {
    const Operation& operation = model->main.operations[i];
    if (!plan.main.isFolded[i]) {
      result->main.operations.push_back(operation);
      continue;
    }
    const uint32_t made = operation.outputs[0];
    appendValues(result.get(), &result->main.operands[made], plan.main.tensors[made]);
  }
  return std::shared_ptr<const Model>(std::move(result));
}

}  // namespace halyard::cpu

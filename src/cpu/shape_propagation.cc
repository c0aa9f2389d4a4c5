#include "cpu/shape_propagation.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "base/read_range.h"
#include "base/work_limit.h"
#include "cpu/constant_pools.h"

namespace halyard::cpu {
namespace {

// Longer constants are data. Shorter ones may be lists that control the computation.
constexpr uint32_t kLongestList = 128;

// Returns whether an execution may omit the operation's input `position`.
bool mayBeOmitted(const ops::OperationDefinition& definition, size_t position) {
  return std::ranges::any_of(definition.signature.forms, [&](const ops::Form& form) {
    if (form.repeated >= 0) {
      return std::ranges::any_of(form.inputs, &ops::OperandSpec::omittable);
    }
    return position < form.inputs.size() && form.inputs[position].omittable;
  });
}

// Returns the bytes of a constant that inference may ask for. Null for any other operand, and for
// unreadable bytes.
std::unique_ptr<std::byte[]> shortConstant(const Model& model, const Operand& operand) {
  const DataLocation& at = operand.location;
  if (!mayBeIndices(operand.type) || at.length == 0 || at.length > kLongestList) return nullptr;
  auto bytes = std::make_unique<std::byte[]>(at.length);
  if (operand.lifetime == Lifetime::CONSTANT_COPY) {
    std::memcpy(bytes.get(), model.operandValues.data() + at.offset, at.length);
    return bytes;
  }
  if (operand.lifetime != Lifetime::CONSTANT_REFERENCE) return nullptr;
  const SharedMemory& pool = *model.pools[at.poolIndex];
  const std::span<uint8_t> to(reinterpret_cast<uint8_t*>(bytes.get()), at.length);
  const Status read = readRange(pool.fd(), pool.offset() + at.offset, to);
  return read.ok() ? std::move(bytes) : nullptr;
}

}  // namespace

ShapePropagation::ShapePropagation(SubgraphPlan* plan, Inputs inputs)
    : plan_(*plan),
      operands_(plan->subgraph->operands),
      inputs_(inputs),
      settled_(operands_.size()) {
  for (size_t i = 0; i < settled_.size(); ++i) settled_[i] = isKnown(i);
}

void ShapePropagation::run() {
  const std::vector<Operation>& operations = plan_.subgraph->operations;
  for (size_t i = 0; i < operations.size(); ++i) {
    checkWorkLimit();
    if (!mayInfer(i)) continue;
    Status status = infer(i);
    if (status.ok()) continue;
    failures_[static_cast<uint32_t>(i)] = status.withCode(ResultCode::OP_FAILED);
  }
  plan_.fixed = std::ranges::all_of(settled_, [](bool settled) { return settled; });
}

bool ShapePropagation::isKnown(size_t operand) const {
  const ops::Tensor& tensor = plan_.tensors[operand];
  if (operands_[operand].lifetime == Lifetime::SUBGRAPH) return true;
  if (tensor.omitted || isExtension(tensor.type)) return tensor.omitted;
  return isScalarType(tensor.type) ||
         (!tensor.dims.empty() && knownByteSize(tensor.type, tensor.dims).has_value());
}

bool ShapePropagation::mayInfer(size_t index) const {
  const ops::OperationDefinition* const definition = plan_.definitions[index];
  if (definition == nullptr || definition->controlFlow != ops::ControlFlow::NONE) return false;
  const OperandIndexes& inputs = plan_.subgraph->operations[index].inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!settled_[inputs[i]]) return false;
    // Only the execution knows whether such an input has a value, and this can change the result's
    // shape.
    if (inputs_ == Inputs::MAY_BE_OMITTED &&
        operands_[inputs[i]].lifetime == Lifetime::SUBGRAPH_INPUT && mayBeOmitted(*definition, i)) {
      return false;
    }
  }
  return true;
}

Status ShapePropagation::infer(size_t index) {
  const Operation& operation = plan_.subgraph->operations[index];
  // The code reuses the memory of earlier operations.
  const size_t count = operation.inputs.size() + operation.outputs.size();
  if (tensors_.size() < count) tensors_.resize(count);
  const std::span<ops::Tensor> inputs(tensors_.data(), operation.inputs.size());
  const std::span<ops::Tensor> outputs(tensors_.data() + inputs.size(), operation.outputs.size());
  const auto take = [this](uint32_t operand) -> const ops::Tensor& {
    return plan_.tensors[operand];
  };
  std::ranges::transform(operation.inputs, inputs.begin(), take);
  std::ranges::transform(operation.outputs, outputs.begin(), take);
  ops::OperationContext context(inputs, outputs, nullptr);
  Status status = ops::inferShapes(*plan_.definitions[index], context);
  if (status.code() == ResultCode::INCOMPLETE) return okStatus();
  HALYARD_RETURN_IF_ERROR(std::move(status));
  for (size_t i = 0; i < outputs.size(); ++i) {
    ops::Tensor& tensor = plan_.tensors[operation.outputs[i]];
    if (isScalarType(tensor.type)) continue;
    ops::Tensor merged = tensor;
    HALYARD_RETURN_IF_ERROR(mergeDims(outputs[i].dims, &merged), "output {} (operand #{})", i,
                            operation.outputs[i]);
    // A declared dimension 0 would mean unknown. The execution computes it again.
    const bool isEmpty = merged.elementCount() == 0;
    if (isEmpty) continue;
    tensor.dims = std::move(merged.dims);
    settled_[operation.outputs[i]] = true;
  }
  plan_.settled[index] =
      !context.hasMissedValue() &&
      std::ranges::all_of(operation.outputs, [&](uint32_t operand) { return settled_[operand]; });
  return okStatus();
}

ops::Tensor declaredTensor(const Operand& operand) {
  ops::Tensor tensor;
  tensor.type = operand.type;
  tensor.dims = operand.dimensions;
  tensor.scale = operand.scale;
  tensor.zeroPoint = operand.zeroPoint;
  tensor.channelQuant = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams);
  tensor.omitted = operand.lifetime == Lifetime::NO_VALUE;
  return tensor;
}

SureFailures sureFailures(const Model& model) {
  SubgraphPlan plan;
  plan.subgraph = &model.main;
  std::vector<std::unique_ptr<std::byte[]>> constants;
  plan.tensors.reserve(model.main.operands.size());
  for (const Operand& operand : model.main.operands) {
    ops::Tensor& tensor = plan.tensors.emplace_back(declaredTensor(operand));
    std::unique_ptr<std::byte[]> bytes = shortConstant(model, operand);
    if (bytes == nullptr) continue;
    tensor.data = bytes.get();
    constants.push_back(std::move(bytes));
  }
  for (const Operation& operation : model.main.operations) {
    plan.definitions.push_back(ops::definitionOf(operation.type));
  }
  plan.settled.resize(model.main.operations.size());
  ShapePropagation shapes(&plan);
  shapes.run();
  return shapes.failures();
}

}  // namespace halyard::cpu

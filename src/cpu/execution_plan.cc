// Making a plan: definitions, constants, who reads what.
#include "cpu/execution_plan.h"

#include <sys/mman.h>

#include <cstring>

namespace halyard::cpu {
namespace {

// Kernels read values of these types as sizes and indices. Memory that another process can write is
// no place for them: between the check and the use they could change.
bool mayBeIndices(OperandType type) {
  return isScalarType(type) || type == OperandType::TENSOR_INT32;
}

Status mapPools(const Model& model, std::vector<Mapping>* mappings) {
  for (size_t i = 0; i < model.pools.size(); ++i) {
    if ((model.pools[i]->prot() & PROT_READ) == 0) {
      return makeStatus(ResultCode::UNMAPPABLE, "model pool {} may not be read", i);
    }
    HALYARD_ASSIGN_OR_RETURN(Mapping mapping, model.pools[i]->map(), "model pool {}", i);
    mappings->push_back(std::move(mapping));
  }
  return okStatus();
}

// Where the constant's bytes lie; null for an operand that is no constant.
const std::byte* constantBytes(const ExecutionPlan& plan, const Operand& operand) {
  const DataLocation& at = operand.location;
  if (operand.lifetime == Lifetime::CONSTANT_COPY) {
    return reinterpret_cast<const std::byte*>(plan.model->operandValues.data()) + at.offset;
  }
  if (operand.lifetime == Lifetime::CONSTANT_REFERENCE) {
    return reinterpret_cast<const std::byte*>(plan.mappings[at.poolIndex].data()) + at.offset;
  }
  return nullptr;
}

void addOperand(const Operand& operand, ExecutionPlan* plan) {
  ops::Tensor tensor;
  tensor.type = operand.type;
  tensor.dims = operand.dimensions;
  tensor.scale = operand.scale;
  tensor.zeroPoint = operand.zeroPoint;
  tensor.channelQuant = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams);
  tensor.omitted = operand.lifetime == Lifetime::NO_VALUE;
  if (const std::byte* bytes = constantBytes(*plan, operand)) {
    const bool isShared = operand.lifetime == Lifetime::CONSTANT_REFERENCE;
    if (!isAlignedFor(operand.type, bytes) || (isShared && mayBeIndices(operand.type))) {
      auto copy = std::make_unique<std::byte[]>(operand.location.length);
      std::memcpy(copy.get(), bytes, operand.location.length);
      bytes = copy.get();
      plan->copies.push_back(std::move(copy));
    }
    // Kernels do not write to inputs.
    tensor.data = const_cast<std::byte*>(bytes);
  }
  plan->tensors.push_back(std::move(tensor));
}

}  // namespace

Result<ExecutionPlan> ExecutionPlan::make(std::shared_ptr<const Model> model) {
  ExecutionPlan plan;
  const Subgraph& main = model->main;
  for (size_t i = 0; i < main.operations.size(); ++i) {
    const OperationType type = main.operations[i].type;
    const ops::OperationDefinition* definition = ops::definitionOf(type);
    if (definition == nullptr) {
      return badData("{}: the CPU device does not have it", operationText(i, type));
    }
    plan.definitions.push_back(definition);
  }
  HALYARD_RETURN_IF_ERROR(mapPools(*model, &plan.mappings));
  plan.model = std::move(model);
  plan.tensors.reserve(main.operands.size());
  for (const Operand& operand : main.operands) addOperand(operand, &plan);
  plan.consumers = countConsumers(main);
  plan.outputPosition.resize(main.operands.size());
  for (size_t i = 0; i < main.outputIndexes.size(); ++i) {
    plan.outputPosition[main.outputIndexes[i]] = i;
  }
  return plan;
}

size_t byteSizeOf(const ops::Tensor& tensor) {
  return tensor.elementCount() * elementSize(tensor.type);
}

bool isAlignedFor(OperandType type, const void* address) {
  const uint32_t size = elementSize(type);
  return size == 0 || reinterpret_cast<uintptr_t>(address) % size == 0;
}

std::string realShapeText(const Shape& dims) { return fmt::format("[{}]", fmt::join(dims, ",")); }

}  // namespace halyard::cpu

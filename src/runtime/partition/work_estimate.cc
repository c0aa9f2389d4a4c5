// Converts shapes to nanoseconds.
#include "runtime/partition/work_estimate.h"
#include "halyard/driver/constants.h"

#include <algorithm>
#include <span>

namespace halyard::runtime {
namespace {

// Unknown dimensions count as 1.
bool isGuessed(const Operand& operand) {
  const bool isTensor = operand.lifetime != Lifetime::NO_VALUE && !isExtension(operand.type) &&
                        !isScalarType(operand.type);
  return (isTensor && operand.dimensions.empty()) ||
         std::ranges::find(operand.dimensions, 0u) != operand.dimensions.end();
}

double elementsOf(const Operand& operand) {
  double count = operand.lifetime == Lifetime::NO_VALUE ? 0 : 1;
  for (const uint32_t dimension : operand.dimensions) count *= std::max(dimension, 1u);
  return count;
}

double bytesOf(const Operand& operand) {
  const double size = isExtension(operand.type) ? 1 : std::max(1u, elementSize(operand.type));
  return elementsOf(operand) * size;
}

// Describes the operands by the known facts, in place of real tensors.
std::span<const ops::Tensor> describe(const Subgraph& subgraph, std::span<const uint32_t> operands,
                                      std::vector<ops::Tensor>* to) {
  if (to->size() < operands.size()) to->resize(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = subgraph.operands[operands[i]];
    ops::Tensor& tensor = (*to)[i];
    tensor.type = operand.type;
    tensor.dims = operand.dimensions;
    tensor.omitted = operand.lifetime == Lifetime::NO_VALUE;
    std::ranges::replace(tensor.dims, 0u, 1u);
  }
  return {to->data(), operands.size()};
}

}  // namespace

OperationWork WorkEstimator::workOf(const Subgraph& subgraph, const Operation& operation) {
  OperationWork work;
  for (const uint32_t index : operation.inputs) {
    const Operand& operand = subgraph.operands[index];
    work.guessed = work.guessed || isGuessed(operand);
    work.bytes += bytesOf(operand);
    // An operation that only reads parts of a table does not process all of it.
    if (!isConstant(operand)) work.elements = std::max(work.elements, elementsOf(operand));
  }
  for (const uint32_t index : operation.outputs) {
    const Operand& operand = subgraph.operands[index];
    work.guessed = work.guessed || isGuessed(operand);
    work.bytes += bytesOf(operand);
    work.results += elementsOf(operand);
  }
  work.elements = std::max(work.elements, work.results);
  const ops::OperationDefinition* definition = ops::definitionOf(operation.type);
  if (definition != nullptr && definition->work != nullptr) {
    work.products = definition->work(describe(subgraph, operation.inputs, &inputs_),
                                     describe(subgraph, operation.outputs, &outputs_));
  }
  return work;
}

OperationWork workOf(const Subgraph& subgraph, const Operation& operation) {
  return WorkEstimator().workOf(subgraph, operation);
}

WorkEstimate WorkEstimator::estimateOnCpu(const Subgraph& subgraph, const Operation& operation,
                                          const CpuFigures& cpu) {
  const OperationWork work = workOf(subgraph, operation);
  const ops::OperationDefinition* definition = ops::definitionOf(operation.type);
  const double arithmetic =
      definition != nullptr && definition->work != nullptr
          ? work.products / cpu.productsPerNs + work.results / cpu.elementsPerNs
          : work.elements / cpu.elementsPerNs;
  return {cpu.operationNs + std::max(arithmetic, work.bytes / cpu.bytesPerNs), work.guessed};
}

}  // namespace halyard::runtime

// Shapes to nanoseconds.
#include "runtime/work_estimate.h"

#include <algorithm>

#include "ops/operation.h"

namespace halyard::runtime {
namespace {

bool isConstant(const Operand& operand) {
  return operand.lifetime == Lifetime::CONSTANT_COPY ||
         operand.lifetime == Lifetime::CONSTANT_REFERENCE;
}

ops::Tensor tensorOf(const Operand& operand, bool* guessed) {
  ops::Tensor tensor;
  tensor.type = operand.type;
  tensor.dims = operand.dimensions;
  tensor.omitted = operand.lifetime == Lifetime::NO_VALUE;
  const bool isTensor = !isExtension(operand.type) && !isScalarType(operand.type);
  if (!tensor.omitted && isTensor && tensor.dims.empty()) *guessed = true;
  for (uint32_t& dimension : tensor.dims) {
    if (dimension != 0) continue;
    dimension = 1;
    *guessed = true;
  }
  return tensor;
}

double elementsOf(const ops::Tensor& tensor) {
  double count = tensor.omitted ? 0 : 1;
  for (const uint32_t dimension : tensor.dims) count *= dimension;
  return count;
}

double bytesOf(const ops::Tensor& tensor) {
  const double size = isExtension(tensor.type) ? 1 : std::max(1u, elementSize(tensor.type));
  return elementsOf(tensor) * size;
}

}  // namespace

OperationWork workOf(const Subgraph& subgraph, const Operation& operation) {
  OperationWork work;
  std::vector<ops::Tensor> inputs;
  std::vector<ops::Tensor> outputs;
  for (const uint32_t index : operation.inputs) {
    inputs.push_back(tensorOf(subgraph.operands[index], &work.guessed));
    work.bytes += bytesOf(inputs.back());
    // What only looks into a table does not go through all of it.
    if (!isConstant(subgraph.operands[index])) {
      work.elements = std::max(work.elements, elementsOf(inputs.back()));
    }
  }
  for (const uint32_t index : operation.outputs) {
    outputs.push_back(tensorOf(subgraph.operands[index], &work.guessed));
    work.bytes += bytesOf(outputs.back());
    work.results += elementsOf(outputs.back());
  }
  work.elements = std::max(work.elements, work.results);
  const ops::OperationDefinition* definition = ops::definitionOf(operation.type);
  if (definition != nullptr && definition->work != nullptr) {
    work.products = definition->work(inputs, outputs);
  }
  return work;
}

WorkEstimate estimateOnCpu(const Subgraph& subgraph, const Operation& operation,
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

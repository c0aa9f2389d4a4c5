#include "model_work.h"

#include <unordered_set>
#include <vector>

namespace halyard::cpudriver {
namespace {

std::vector<ops::Tensor> tensorsOf(const cpu::SubgraphPlan& plan, const OperandIndexes& operands) {
  std::vector<ops::Tensor> tensors;
  tensors.reserve(operands.size());
  for (const uint32_t operand : operands) tensors.push_back(plan.tensors[operand]);
  return tensors;
}

bool isFloat(OperandType type) {
  return type == OperandType::TENSOR_FLOAT32 || type == OperandType::TENSOR_FLOAT16;
}

}  // namespace

double productsOf(const cpu::SubgraphPlan& plan, std::span<const Step> steps) {
  double products = 0;
  const std::vector<Operation>& operations = plan.subgraph->operations;
  // A step may compute several operations, of which it names the last.
  for (size_t i = 0; i < operations.size(); ++i) {
    const ops::OperationDefinition& definition = *plan.definitions[i];
    if (definition.work == nullptr || plan.isFolded[i]) continue;
    const std::vector<ops::Tensor> outputs = tensorsOf(plan, operations[i].outputs);
    products += definition.work(tensorsOf(plan, operations[i].inputs), outputs) *
                (isFloat(outputs[0].type) ? productsOfFloat() : 1);
  }
  for (const Step& step : steps) {
    if (plan.definitions[step.operation]->work != nullptr) continue;
    for (const uint32_t output : step.outputs) {
      products += kProductsOfElement * static_cast<double>(plan.tensors[output].elementCount());
    }
  }
  return products;
}

double productsOf(const cpu::ExecutionPlan& plan) {
  double products = productsOf(plan.main, plan.main.steps->steps);
  for (const cpu::SubgraphPlan& body : plan.referenced) {
    products +=
        body.steps == nullptr ? leastDividedProducts() : productsOf(body, body.steps->steps);
  }
  return products;
}

size_t weightBytesOf(const cpu::SubgraphPlan& plan) {
  size_t bytes = 0;
  std::unordered_set<uint32_t> counted;
  const auto isConstant = [&](uint32_t operand) {
    const Lifetime lifetime = plan.subgraph->operands[operand].lifetime;
    return lifetime == Lifetime::CONSTANT_COPY || lifetime == Lifetime::CONSTANT_REFERENCE ||
           plan.tensors[operand].data != nullptr;  // the result of a folded operation
  };
  for (size_t i = 0; i < plan.subgraph->operations.size(); ++i) {
    if (plan.definitions[i]->work == nullptr || plan.isFolded[i]) continue;
    for (const uint32_t input : plan.subgraph->operations[i].inputs) {
      if (isConstant(input) && counted.insert(input).second) {
        bytes += cpu::byteSizeOf(plan.tensors[input]);
      }
    }
  }
  return bytes;
}

bool isWorthThreads(const cpu::ExecutionPlan& plan, bool clientTakesProcessor, size_t cache) {
  if (productsOf(plan) >= leastDividedProducts()) return true;
  if (cache == 0) return false;
  size_t weights = weightBytesOf(plan.main);
  for (const cpu::SubgraphPlan& body : plan.referenced) weights += weightBytesOf(body);
  return weights > (clientTakesProcessor ? 2 * cache : cache);
}

}  // namespace halyard::cpudriver

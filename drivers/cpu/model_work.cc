#include "model_work.h"

#include <vector>

namespace halyard::cpudriver {
namespace {

std::vector<ops::Tensor> tensorsOf(const cpu::SubgraphPlan& plan, const OperandIndexes& operands) {
  std::vector<ops::Tensor> tensors;
  tensors.reserve(operands.size());
  for (const uint32_t operand : operands) tensors.push_back(plan.tensors[operand]);
  return tensors;
}

}  // namespace

double productsOf(const cpu::SubgraphPlan& plan, std::span<const Step> steps) {
  double products = 0;
  const std::vector<Operation>& operations = plan.subgraph->operations;
  // A step may compute several operations, of which it names the last.
  for (size_t i = 0; i < operations.size(); ++i) {
    const ops::OperationDefinition& definition = *plan.definitions[i];
    if (definition.work == nullptr || plan.isFolded[i]) continue;
    products += definition.work(tensorsOf(plan, operations[i].inputs),
                                tensorsOf(plan, operations[i].outputs));
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

}  // namespace halyard::cpudriver

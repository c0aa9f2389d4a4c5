// Places the values of steps by their lifetimes.
#include "cpu/step_plan.h"

#include <algorithm>

#include "cpu/block_pool.h"

namespace halyard::cpu {
namespace {

// The time for placing the temporaries is quadratic.
constexpr size_t kMostOperations = 4096;

// Added to the size of large temporaries, so that two neighbours do not begin at the same offset in
// a page. Otherwise the values of an image's cells, far apart, compete for a few places of the
// first-level cache. Loads also wait for stores that only seem to have the same address.
constexpr size_t kApart = 256;
constexpr size_t kLargeTemporary = 4096;

size_t placeBytes(const ops::Tensor& tensor) {
  const size_t bytes = byteSizeOf(tensor);
  return bytes < kLargeTemporary ? bytes : bytes + kApart;
}

OperandPlaces placesOf(const SubgraphPlan& plan, const std::vector<Step>& steps) {
  LifetimePlanner planner(plan.tensors.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    for (uint32_t operand : steps[i].sources) planner.extend(operand, i);
    for (uint32_t operand : steps[i].outputs) {
      const bool isOutput = plan.outputPosition[operand].has_value();
      if (isOutput && plan.consumers[operand] == 0) continue;
      planner.write(operand, placeBytes(plan.tensors[operand]), i);
      if (isOutput) planner.extend(operand, steps.size());
    }
  }
  return planner.place(BlockPool::kAlignment);
}

}  // namespace

bool mayHaveSteps(const Subgraph& subgraph) {
  if (subgraph.operations.size() > kMostOperations) return false;
  return std::ranges::none_of(subgraph.operands,
                              [](const Operand& operand) { return isExtension(operand.type); });
}

bool canHaveSteps(const SubgraphPlan& plan) {
  if (!plan.fixed || !mayHaveSteps(*plan.subgraph)) return false;
  for (size_t i = 0; i < plan.settled.size(); ++i) {
    const bool isControlFlow = plan.definitions[i]->controlFlow != ops::ControlFlow::NONE;
    if (!plan.settled[i] && !isControlFlow) return false;
  }
  return true;
}

std::shared_ptr<StepPlan> planSteps(const SubgraphPlan& plan, std::vector<Step> steps) {
  auto made = std::make_shared<StepPlan>();
  made->places = placesOf(plan, steps);
  // These steps rely on the values that they have read once.
  std::vector<bool> readTwice(plan.tensors.size());
  for (const Step& step : steps) {
    if (step.kernel != nullptr) continue;
    for (uint32_t operand : step.sources) readTwice[operand] = true;
  }
  for (uint32_t operand : plan.subgraph->inputIndexes) {
    made->copiesInput.push_back(readTwice[operand]);
  }
  made->steps = std::move(steps);
  return made;
}

}  // namespace halyard::cpu

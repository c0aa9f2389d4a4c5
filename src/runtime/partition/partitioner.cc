// Chooses devices for the operations of a subgraph and of the subgraphs below it.
#include "runtime/partition/partitioner.h"

#include <algorithm>

#include "model/validation/control_flow_sizes.h"
#include "ops/operation.h"
#include "runtime/partition/partition_search.h"

namespace halyard::runtime {
namespace {

using ChoicePtr = std::shared_ptr<const SubgraphChoice>;

// The maximum number of parts in control flow. A model can refer to a subgraph many times, and the
// plan repeats its parts each time.
constexpr size_t kMostInnerParts = 10000;

size_t partsIn(const SubgraphChoice& choice) {
  size_t count = choice.parts.size();
  for (const auto& [operation, list] : choice.inner) {
    for (const ChoicePtr& each : list) count += partsIn(*each);
  }
  return count;
}

class Partitioner {
 public:
  Partitioner(SupportTable& support, CostModel& costs, const OperationNamer& nameOf)
      : support_(support), costs_(costs), nameOf_(nameOf), model_(*support.model()) {}

  Result<ChoicePtr> choose(uint32_t subgraph);

 private:
  uint32_t interpreted() const { return static_cast<uint32_t>(support_.devices().size()); }

  // Fills the problem's costs and the choices for operations that the runtime could run itself.
  Status findCandidates(uint32_t subgraph, SearchProblem* problem, SubgraphChoice* choice);
  // Returns the choices for the subgraphs of an IF or WHILE. Empty when the runtime cannot run it
  // itself, or when that has no advantage.
  std::vector<ChoicePtr> chooseInner(uint32_t subgraph, uint32_t operation);
  double interpretedCost(uint32_t subgraph, uint32_t operation,
                         const std::vector<ChoicePtr>& inner) const;
  Status nobodyTakes(uint32_t subgraph, uint32_t operation);
  // Returns NNAPI's choice for each operation alone.
  std::vector<uint32_t> bestForEach(const SearchProblem& problem, const SubgraphChoice& choice);

  SupportTable& support_;
  CostModel& costs_;
  const OperationNamer& nameOf_;
  const Model& model_;
  std::map<uint32_t, ChoicePtr> chosen_;
};

Status Partitioner::nobodyTakes(uint32_t subgraph, uint32_t operation) {
  const std::vector<const Device*>& devices = support_.devices();
  if (devices.size() == 1) {
    return badData("device {} does not support {}: {}", devices[0]->name(),
                   nameOf_(subgraph, operation), support_.reason(subgraph, operation, 0));
  }
  std::string reasons;
  for (size_t d = 0; d < devices.size(); ++d) {
    reasons += fmt::format("{}device {}: {}", reasons.empty() ? "" : "; ", devices[d]->name(),
                           support_.reason(subgraph, operation, d));
  }
  return badData("no device takes {}: {}", nameOf_(subgraph, operation), reasons);
}

std::vector<ChoicePtr> Partitioner::chooseInner(uint32_t subgraph, uint32_t operation) {
  const std::vector<uint32_t> referenced = subgraphsOf(model_, subgraph, operation);
  if (referenced.empty() || !support_.hasCpu() || support_.devices().size() == 1) return {};
  const Subgraph& owner = subgraphAt(model_, subgraph);
  if (!unknownSizeAtBoundary(model_, owner, owner.operations[operation]).empty()) return {};
  std::vector<ChoicePtr> inner;
  size_t parts = 0;
  bool allOnCpu = true;
  for (const uint32_t each : referenced) {
    Result<ChoicePtr> choice = choose(each);
    if (!choice.ok()) return {};
    const std::vector<uint32_t>& deviceOf = (*choice)->deviceOf;
    allOnCpu = allOnCpu && std::all_of(deviceOf.begin(), deviceOf.end(),
                                       [&](uint32_t device) { return device == support_.cpu(); });
    parts += partsIn(**choice);
    inner.push_back(std::move(*choice));
  }
  if (allOnCpu || parts > kMostInnerParts) return {};
  return inner;
}

double Partitioner::interpretedCost(uint32_t subgraph, uint32_t operation,
                                    const std::vector<ChoicePtr>& inner) const {
  const OperationType type = subgraphAt(model_, subgraph).operations[operation].type;
  const bool isBranch = ops::definitionOf(type)->controlFlow == ops::ControlFlow::BRANCH;
  double cost = 0;
  for (const ChoicePtr& each : inner) {
    cost += each->predicted.total() * (isBranch ? CostModel::kBranch : CostModel::kIterations);
  }
  return cost;
}

Status Partitioner::findCandidates(uint32_t subgraph, SearchProblem* problem,
                                   SubgraphChoice* choice) {
  const size_t count = problem->graph.operationCount();
  const std::vector<const Device*>& devices = support_.devices();
  problem->candidates.resize(devices.size() + 1);
  for (SearchProblem::Candidate& candidate : problem->candidates) {
    candidate.cost.assign(count, kNotCandidate);
  }
  for (size_t d = 0; d < devices.size(); ++d) {
    SearchProblem::Candidate& candidate = problem->candidates[d];
    candidate.isCpu = d == support_.cpu();
    candidate.takesDynamic = candidate.isCpu || devices[d]->info().halVersion >= HalVersion::V1_2;
    candidate.link = costs_.linkOf(d);
  }
  for (uint32_t n = 0; n < count; ++n) {
    bool isTaken = false;
    for (size_t d = 0; d < devices.size(); ++d) {
      if (!support_.takes(subgraph, n, d)) continue;
      problem->candidates[d].cost[n] = costs_.compute(subgraph, n, d);
      isTaken = true;
    }
    std::vector<ChoicePtr> inner = chooseInner(subgraph, n);
    if (!inner.empty()) {
      problem->candidates.back().cost[n] = interpretedCost(subgraph, n, inner);
      choice->inner[n] = std::move(inner);
      isTaken = true;
    }
    if (!isTaken) return nobodyTakes(subgraph, n);
  }
  return okStatus();
}

std::vector<uint32_t> Partitioner::bestForEach(const SearchProblem& problem,
                                               const SubgraphChoice& choice) {
  std::vector<uint32_t> deviceOf(problem.graph.operationCount());
  for (uint32_t n = 0; n < deviceOf.size(); ++n) {
    const bool canInterpret = choice.inner.contains(n);
    double best = kNotCandidate;
    for (size_t d = 0; d < support_.devices().size(); ++d) {
      const bool isCpu = d == support_.cpu();
      if (problem.candidates[d].cost[n] == kNotCandidate && !(isCpu && canInterpret)) continue;
      const double performance = costs_.performance(choice.subgraph, n, d);
      if (performance > best || (performance == best && !isCpu)) continue;
      best = performance;
      deviceOf[n] = static_cast<uint32_t>(d);
    }
    if (deviceOf[n] == support_.cpu() && canInterpret) deviceOf[n] = interpreted();
  }
  return deviceOf;
}

Result<ChoicePtr> Partitioner::choose(uint32_t subgraph) {
  if (const auto it = chosen_.find(subgraph); it != chosen_.end()) return it->second;
  auto choice = std::make_shared<SubgraphChoice>();
  choice->subgraph = subgraph;
  // The question comes first, because the costs may be computed meanwhile.
  support_.ask(subgraph);
  for (size_t d = 0; d < support_.devices().size(); ++d) {
    costs_.useOwn(subgraph, d, support_.costs(subgraph, d));
  }
  SearchProblem problem{costs_.graphOf(subgraph), {}, subgraph == kMainSubgraph};
  HALYARD_RETURN_IF_ERROR(findCandidates(subgraph, &problem, choice.get()));
  std::vector<uint32_t> start = bestForEach(problem, *choice);
  // With one device there is no choice.
  const bool mayImprove = costs_.countsBoundaries() && support_.devices().size() > 1;
  Assignment best =
      mayImprove ? improve(problem, std::move(start)) : evaluate(problem, std::move(start));
  std::erase_if(choice->inner,
                [&](const auto& each) { return best.deviceOf[each.first] != interpreted(); });
  choice->deviceOf = std::move(best.deviceOf);
  choice->parts = std::move(best.parts);
  choice->borders = std::move(best.borders);
  choice->predicted = {best.compute, best.boundary};
  chosen_[subgraph] = choice;
  return ChoicePtr(std::move(choice));
}

}  // namespace

Result<ChoicePtr> choosePartitions(SupportTable& support, CostModel& costs,
                                   const OperationNamer& nameOf) {
  return Partitioner(support, costs, nameOf).choose(kMainSubgraph);
}

}  // namespace halyard::runtime

// Turns decisions into texts.
#include "runtime/report/plan_report.h"

#include <algorithm>
#include <cfloat>

#include "ops/operation.h"
#include "runtime/partition/plan_builder.h"
#include "runtime/partition/step_model.h"

namespace halyard::runtime {
namespace {

constexpr uint32_t kNoStep = UINT32_MAX;

class Describer {
 public:
  Describer(const Plan& plan, SupportTable& support, CostModel& costs,
            const std::vector<uint32_t>& order)
      : plan_(plan),
        support_(support),
        costs_(costs),
        order_(order),
        model_(*support.model()),
        stepOf_(model_.main.operations.size(), kNoStep) {
    for (uint32_t s = 0; s < plan.steps.size(); ++s) {
      if (plan.steps[s].subgraph != kMainSubgraph) continue;
      for (const uint32_t operation : plan.steps[s].operations) stepOf_[operation] = s;
    }
  }

  Report::Decisions run(const std::vector<OperationReport::RejectedDevice>& leftOut) {
    Report::Decisions decisions;
    decisions.operations.resize(order_.size());
    for (uint32_t n = 0; n < order_.size(); ++n) {
      OperationReport& report = decisions.operations[order_[n]];
      report = describe(n);
      report.others.insert(report.others.end(), leftOut.begin(), leftOut.end());
    }
    partitions_.resize(plan_.steps.size());
    walk(plan_.sequence, {}, {});
    decisions.partitions = std::move(partitions_);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      decisions.targets.push_back(targetOf(plan_.steps[s], decisions.partitions[s]));
    }
    return decisions;
  }

 private:
  OperationReport describe(uint32_t n) {
    OperationReport report;
    report.index = order_[n];
    report.type = model_.main.operations[n].type;
    const std::vector<const Device*>& devices = support_.devices();
    report.interpreted = stepOf_[n] == kNoStep;
    size_t chosen = support_.cpu();
    if (!report.interpreted) {
      report.partition = static_cast<int32_t>(stepOf_[n]);
      const Device* device = plan_.steps[stepOf_[n]].device;
      chosen =
          static_cast<size_t>(std::find(devices.begin(), devices.end(), device) - devices.begin());
    }
    report.device = devices[chosen]->name();
    for (size_t d = 0; d < devices.size(); ++d) {
      if (d == chosen) continue;
      report.others.push_back({devices[d]->name(), whyNot(n, d, chosen, report.interpreted)});
    }
    return report;
  }

  Report::Target targetOf(const ComputeStep& step, const PartitionReport& report) const {
    const std::vector<const Device*>& devices = support_.devices();
    const auto device = static_cast<size_t>(std::find(devices.begin(), devices.end(), step.device) -
                                            devices.begin());
    return {costs_.timingsOf(device),
            costs_.uncorrected(device, step.predicted.compute,
                               static_cast<double>(report.bytesIn + report.bytesOut))};
  }

  std::string whyNot(uint32_t n, size_t device, size_t chosen, bool isInterpreted) {
    std::string reason = support_.reason(kMainSubgraph, n, device);
    if (!reason.empty()) return reason;
    const std::string& name = support_.devices()[chosen]->name();
    if (!costs_.countsBoundaries()) return whyNotByFigures(n, device, chosen);
    if (isInterpreted) return "would be slower than running its models part by part";
    const double here = costs_.compute(kMainSubgraph, n, chosen);
    const double there = costs_.compute(kMainSubgraph, n, device);
    const double link = costs_.linkOf(device).wakeNs;
    if (there > here) {
      return fmt::format("predicted {}, slower than {} on {}", durationText(there),
                         durationText(here), name);
    }
    if (there == here) return fmt::format("predicted {}, as on {}", durationText(there), name);
    if (plan_.simple) {
      return fmt::format(
          "predicted {} rather than {} on {}, but the model as a whole is predicted to be faster "
          "there: a part on this device costs {} and more beside computing",
          durationText(there), durationText(here), name, durationText(link));
    }
    return fmt::format(
        "predicted {} rather than {} on {}, but is cheaper together with its neighbours there: a "
        "part on this device costs {} and more beside computing",
        durationText(there), durationText(here), name, durationText(link));
  }

  std::string whyNotByFigures(uint32_t n, size_t device, size_t chosen) {
    const double here = costs_.performance(kMainSubgraph, n, chosen);
    const double there = costs_.performance(kMainSubgraph, n, device);
    const std::string& name = support_.devices()[chosen]->name();
    if (there >= FLT_MAX) {
      return fmt::format("gives no figure for such operands, {} has {:.4g}", name, here);
    }
    if (there > here) {
      return fmt::format("its figure is {:.4g}, that of {} is {:.4g}", there, name, here);
    }
    if (there == here) return fmt::format("its figure is {:.4g}, as that of {}", there, name);
    return fmt::format(
        "its figure of {:.4g} is better than {:.4g} of {}, which has the whole model", there, here,
        name);
  }

  // `within`: the text for parts in a sequence; `owner`: the operation of the main subgraph that
  // they belong to.
  void walk(const PlanSequence& sequence, const std::string& within,
            const std::vector<uint32_t>& owner) {
    for (const PlanNode& node : sequence) {
      if (const auto* compute = std::get_if<ComputeNode>(&node.what)) {
        describePart(compute->step, within, owner);
      } else if (const auto* branch = std::get_if<IfNode>(&node.what)) {
        const std::string text = textOf(branch->subgraph, branch->operation, within);
        const std::vector<uint32_t> top = topOf(branch->subgraph, branch->operation, owner);
        walk(branch->thenSequence, text + ": then", top);
        walk(branch->elseSequence, text + ": else", top);
      } else if (const auto* loop = std::get_if<WhileNode>(&node.what)) {
        const std::string text = textOf(loop->subgraph, loop->operation, within);
        const std::vector<uint32_t> top = topOf(loop->subgraph, loop->operation, owner);
        walk(loop->condition, text + ": condition", top);
        walk(loop->body, text + ": body", top);
      }
    }
  }

  std::string textOf(uint32_t subgraph, uint32_t operation, const std::string& within) const {
    const uint32_t index = subgraph == kMainSubgraph ? order_[operation] : operation;
    const std::string text =
        operationText(index, subgraphAt(model_, subgraph).operations[operation].type);
    return within.empty() ? text : within + ": " + text;
  }

  std::vector<uint32_t> topOf(uint32_t subgraph, uint32_t operation,
                              const std::vector<uint32_t>& owner) const {
    return subgraph == kMainSubgraph ? std::vector<uint32_t>{order_[operation]} : owner;
  }

  void describePart(uint32_t index, const std::string& within, const std::vector<uint32_t>& owner) {
    const ComputeStep& step = plan_.steps[index];
    PartitionReport& report = partitions_[index];
    report.device = step.device->name();
    report.within = within;
    report.operations = owner;
    report.operationCount = static_cast<uint32_t>(step.operations.size());
    report.predicted = step.predicted;
    if (step.subgraph == kMainSubgraph) {
      for (const uint32_t operation : step.operations)
        report.operations.push_back(order_[operation]);
      std::sort(report.operations.begin(), report.operations.end());
    }
    for (const uint32_t operation : step.operations) {
      if (costs_.guessesSizes(step.subgraph, operation)) report.sizesUnknown = true;
    }
    const Subgraph& subgraph = subgraphAt(model_, step.subgraph);
    const auto bytesOf = [&](const std::vector<uint32_t>& operands) {
      uint64_t bytes = 0;
      for (const uint32_t operand : operands) {
        const Operand& each = subgraph.operands[operand];
        bytes += costs_.sizes().known(each.type, each.dimensions).value_or(0);
      }
      return bytes;
    };
    report.bytesIn = bytesOf(step.inputs);
    report.bytesOut = bytesOf(step.outputs);
  }

  const Plan& plan_;
  SupportTable& support_;
  CostModel& costs_;
  const std::vector<uint32_t>& order_;
  const Model& model_;
  std::vector<uint32_t> stepOf_;  // by operation of the main subgraph
  std::vector<PartitionReport> partitions_;
};

}  // namespace

Report::Decisions describeDecisions(const Plan& plan, SupportTable& support, CostModel& costs,
                                    const std::vector<uint32_t>& order,
                                    const std::vector<OperationReport::RejectedDevice>& leftOut) {
  return Describer(plan, support, costs, order).run(leftOut);
}

Report::Decisions describeSoleDevice(const SoleDevice& sole) {
  SupportTable support(sole.model, {sole.device});  // it takes everything: no question
  CostModel costs(*sole.model, support.devices(), sole.preference, sole.costs);
  costs.useOwn(kMainSubgraph, 0, sole.ownCosts);
  Plan plan = simplePlan(*sole.model, subgraphAsModel(sole.model, kMainSubgraph), *sole.device);
  const Part part{0, plan.steps[0].operations};
  const std::vector<PartBorder> borders = bordersOf(costs.graphOf(kMainSubgraph), {&part, 1});
  plan.steps[0].predicted = costs.costOf(kMainSubgraph, part, borders[0]);
  return describeDecisions(plan, support, costs, sole.order, sole.leftOut);
}

Report::Decisions describeSupport(SupportTable& support, const std::vector<uint32_t>& order,
                                  const std::vector<OperationReport::RejectedDevice>& leftOut) {
  Report::Decisions decisions;
  decisions.operations.resize(order.size());
  for (uint32_t n = 0; n < order.size(); ++n) {
    OperationReport& report = decisions.operations[order[n]];
    report.index = order[n];
    report.type = support.model()->main.operations[n].type;
    for (size_t d = 0; d < support.devices().size(); ++d) {
      std::string reason = support.reason(kMainSubgraph, n, d);
      if (reason.empty()) reason = "takes it, but there is no plan for the model";
      report.others.push_back({support.devices()[d]->name(), std::move(reason)});
    }
    report.others.insert(report.others.end(), leftOut.begin(), leftOut.end());
  }
  return decisions;
}

Report::Decisions describeSureFailures(const Model& model, const cpu::SureFailures& failures,
                                       const std::vector<uint32_t>& order,
                                       const std::vector<const Device*>& devices) {
  Report::Decisions decisions;
  decisions.operations.resize(order.size());
  for (uint32_t n = 0; n < order.size(); ++n) {
    OperationReport& report = decisions.operations[order[n]];
    report.index = order[n];
    report.type = model.main.operations[n].type;
    const auto failure = failures.find(n);
    const std::string reason = failure == failures.end()
                                   ? "others of the model can never be computed"
                                   : "can never be computed: " + failure->second.message();
    for (const Device* device : devices) report.others.push_back({device->name(), reason});
  }
  return decisions;
}

std::string durationText(double nanoseconds) {
  if (nanoseconds >= 1e9) return fmt::format("{:.3g} s", nanoseconds / 1e9);
  if (nanoseconds >= 1e6) return fmt::format("{:.3g} ms", nanoseconds / 1e6);
  if (nanoseconds >= 1e3) return fmt::format("{:.3g} us", nanoseconds / 1e3);
  return fmt::format("{:.3g} ns", nanoseconds);
}

}  // namespace halyard::runtime

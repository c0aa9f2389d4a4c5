// Costs of operations and of borders.
#include "runtime/partition/cost_model.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/environment.h"
#include "base/environment_warning.h"
#include "halyard/driver/trace.h"
#include "ops/operation.h"
#include "runtime/device/machine_figures.h"
#include "runtime/partition/support.h"

namespace halyard::runtime {
namespace {

// When devices are compared, a missing figure counts as FLT_MAX. As a cost it would hide all other
// costs.
constexpr double kWorstFactor = 1000;
// The share of a well-shaped matrix product's speed that kernels reach in models
// (bench/prediction_bench).
constexpr double kUsualEfficiency = 0.6;
// The time to call a driver in this process.
constexpr double kCallNs = 1000;

}  // namespace

CostSettings CostSettings::ofThisMachine() {
  CostSettings settings;
  const char* const overhead = environmentVariable("HALYARD_PARTITION_OVERHEAD");
  const std::string_view value = overhead == nullptr ? "" : overhead;
  settings.boundaries = value != "off";
  if (settings.boundaries && !value.empty()) {
    warnOfValue("HALYARD_PARTITION_OVERHEAD", value, "off");
  }
  if (!settings.boundaries) return settings;
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::INITIALIZATION,
                          "measure the machine");
  const MachineFigures& machine = machineFigures();
  settings.cpu.productsPerNs = machine.productsPerNs * kUsualEfficiency;
  settings.cpu.bytesPerNs = 1 / machine.nsPerByte;
  settings.learns = true;
  settings.link = [machine](const Device& device) {
    const bool isOwnProcess = device.hal().processId() == ::getpid();
    return isOwnProcess ? LinkCosts{kCallNs, 0} : LinkCosts{machine.wakeNs, machine.nsPerByte};
  };
  return settings;
}

CostModel::CostModel(const Model& model, std::span<const Device* const> devices,
                     hal::ExecutionPreference preference, CostSettings settings)
    : model_(model),
      devices_(devices.begin(), devices.end()),
      preference_(preference),
      settings_(std::move(settings)),
      sizes_(operandSizes(model, devices)) {
  // The relation of an unmeasured device to the CPU device is its own statement. So the CPU
  // device's measurements apply to it, too.
  const auto cpu = std::find_if(devices_.begin(), devices_.end(),
                                [](const Device* device) { return device->isCpu(); });
  DeviceTimings::Factors unmeasured;
  if (cpu != devices_.end()) unmeasured.compute = (*cpu)->timings()->factors().compute;
  for (const Device* device : devices_) {
    const bool hasLink = !device->isCpu() && settings_.boundaries;
    LinkCosts link = hasLink ? settings_.link(*device) : LinkCosts{};
    DeviceTimings::Factors factors;
    if (settings_.learns) {
      factors = device->timings()->empty() ? unmeasured : device->timings()->factors();
    }
    link.wakeNs *= factors.wake;
    link.nsPerByte *= factors.transfer;
    links_.push_back(link);
    factors_.push_back(factors);
  }
}

void CostModel::useOwn(uint32_t subgraph, size_t device, std::vector<std::optional<double>> costs) {
  const auto isGiven = [](const std::optional<double>& cost) { return cost.has_value(); };
  if (preference_ == hal::ExecutionPreference::LOW_POWER || std::ranges::none_of(costs, isGiven)) {
    return;
  }
  // The measurements of the CPU device say nothing about such predictions.
  if (devices_[device]->timings()->empty()) factors_[device].compute = 1;
  own_[{subgraph, device}] = std::move(costs);
  figures_.erase(subgraph);
}

double CostModel::pick(hal::PerformanceInfo info) const {
  return preference_ == hal::ExecutionPreference::LOW_POWER ? info.powerUsage : info.execTime;
}

double CostModel::typePerformance(const hal::Capabilities& capabilities, const Subgraph& subgraph,
                                  const Operation& operation) const {
  const OperandType type = operation.inputs.empty() ? OperandType::TENSOR_FLOAT32
                                                    : subgraph.operands[operation.inputs[0]].type;
  if (model_.relaxComputationFloat32toFloat16) {
    if (type == OperandType::FLOAT32) {
      return pick(capabilities.relaxedFloat32toFloat16PerformanceScalar);
    }
    if (type == OperandType::TENSOR_FLOAT32) {
      return pick(capabilities.relaxedFloat32toFloat16PerformanceTensor);
    }
  }
  return pick(capabilities.lookup(type));
}

CostModel::Figures CostModel::makeFigures(uint32_t subgraph) {
  const Subgraph& owner = subgraphAt(model_, subgraph);
  const size_t count = owner.operations.size();
  Figures figures;
  figures.work.reserve(count);
  WorkEstimator estimator;
  for (const Operation& operation : owner.operations) {
    figures.work.push_back(estimator.estimateOnCpu(owner, operation, settings_.cpu));
  }
  for (size_t d = 0; d < devices_.size(); ++d) {
    const hal::Capabilities& capabilities = devices_[d]->info().capabilities;
    std::vector<double> performance(count);
    std::vector<double> compute(count);
    for (uint32_t n = 0; n < count; ++n) {
      const std::vector<uint32_t> inner = subgraphsOf(model_, subgraph, n);
      if (inner.empty()) {
        performance[n] = typePerformance(capabilities, owner, owner.operations[n]);
        compute[n] = figures.work[n].nanoseconds * std::min(performance[n], kWorstFactor) *
                     factors_[d].compute;
        continue;
      }
      const bool isBranch =
          ops::definitionOf(owner.operations[n].type)->controlFlow == ops::ControlFlow::BRANCH;
      performance[n] = pick(isBranch ? capabilities.ifPerformance : capabilities.whilePerformance);
      compute[n] =
          settings_.cpu.operationNs * std::min(performance[n], kWorstFactor) * factors_[d].compute;
      for (const uint32_t each : inner) {
        const Figures& nested = figuresOf(each);
        performance[n] += nested.performanceSum[d] * (isBranch ? 0.5 : 1);
        compute[n] += nested.computeSum[d] * (isBranch ? kBranch : kIterations);
      }
    }
    if (const auto own = own_.find({subgraph, d}); own != own_.end()) {
      for (uint32_t n = 0; n < count; ++n) {
        if (own->second[n]) compute[n] = *own->second[n] * factors_[d].compute;
      }
    }
    double performanceSum = 0;
    double computeSum = 0;
    for (size_t n = 0; n < count; ++n) {
      performanceSum += performance[n];
      computeSum += compute[n];
    }
    figures.performance.push_back(std::move(performance));
    figures.compute.push_back(std::move(compute));
    figures.performanceSum.push_back(performanceSum);
    figures.computeSum.push_back(computeSum);
  }
  return figures;
}

const CostModel::Figures& CostModel::figuresOf(uint32_t subgraph) {
  const auto it = figures_.find(subgraph);
  if (it != figures_.end()) return it->second;
  Figures figures = makeFigures(subgraph);
  return figures_.emplace(subgraph, std::move(figures)).first->second;
}

const PartitionGraph& CostModel::graphOf(uint32_t subgraph) {
  const auto it = graphs_.find(subgraph);
  if (it != graphs_.end()) return it->second;
  return graphs_.emplace(subgraph, PartitionGraph(subgraphAt(model_, subgraph), sizes_))
      .first->second;
}

double CostModel::performance(uint32_t subgraph, uint32_t operation, size_t device) {
  return figuresOf(subgraph).performance[device][operation];
}

double CostModel::compute(uint32_t subgraph, uint32_t operation, size_t device) {
  return figuresOf(subgraph).compute[device][operation];
}

Cost CostModel::costOf(uint32_t subgraph, const Part& part, const PartBorder& border) {
  Cost cost;
  for (const uint32_t operation : part.operations) {
    cost.compute += compute(subgraph, operation, part.device);
  }
  const LinkCosts& link = links_[part.device];
  cost.boundary = link.wakeNs + (border.bytesIn + border.bytesOut) * link.nsPerByte;
  return cost;
}

bool CostModel::guessesSizes(uint32_t subgraph, uint32_t operation) {
  return figuresOf(subgraph).work[operation].guessed;
}

PredictedParts CostModel::uncorrected(size_t device, double compute, double bytes) const {
  const LinkCosts& link = links_[device];
  const DeviceTimings::Factors& factors = factors_[device];
  return {link.wakeNs / factors.wake, bytes * link.nsPerByte / factors.transfer,
          compute / factors.compute};
}

std::shared_ptr<DeviceTimings> CostModel::timingsOf(size_t device) const {
  // With LOW_POWER, the predictions are not times.
  if (!settings_.learns || preference_ == hal::ExecutionPreference::LOW_POWER) return nullptr;
  return devices_[device]->timings();
}

}  // namespace halyard::runtime

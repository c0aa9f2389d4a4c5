// CostModel: what operations cost on each device, and what it costs to get there.
// Thread safety: one thread at a time. Ownership: borrows model and devices.
//
// A device says how its speed compares with the CPU device's. What an operation costs on the CPU
// is estimated from its shapes (work_estimate.h), and getting to a driver from figures of the
// machine (machine_figures.h); both get better with what executions report (device_timings.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "hal/checks/operand_sizes.h"
#include "halyard/driver/hal_types.h"
#include "runtime/device/device_timings.h"
#include "runtime/partition/partition_graph.h"
#include "runtime/partition/plan.h"
#include "runtime/partition/work_estimate.h"

namespace halyard::runtime {

// What a part on a device costs beside computing.
struct LinkCosts {
  double wakeNs = 0;     // there and back
  double nsPerByte = 0;  // of all inputs and outputs
};

struct CostSettings {
  CpuFigures cpu;
  // Not asked for the CPU device.
  std::function<LinkCosts(const Device& device)> link;
  // Correct predictions by what executions have shown (Device::timings), and let these show more.
  bool learns = false;
  // False: NNAPI's plain choice, the best device for each operation.
  bool boundaries = true;

  // Figures of this machine, measured when they are first needed; HALYARD_PARTITION_OVERHEAD=off
  // switches boundaries off.
  static CostSettings ofThisMachine();
};

class CostModel {
 public:
  CostModel(const Model& model, std::span<const Device* const> devices,
            hal::ExecutionPreference preference, CostSettings settings);

  bool countsBoundaries() const { return settings_.boundaries; }
  // The figure of NNAPI's rules, by what the device says of itself: smaller is better.
  double performance(uint32_t subgraph, uint32_t operation, size_t device);
  // Nanoseconds, or what stands for them when power counts. Infinite where the device says nothing
  // of the type.
  double compute(uint32_t subgraph, uint32_t operation, size_t device);
  // Of a part on its device.
  Cost costOf(uint32_t subgraph, const Part& part, const PartBorder& border);
  LinkCosts linkOf(size_t device) const { return links_[device]; }
  // What measurements of a part should be compared with. `compute` as predicted here.
  PredictedParts uncorrected(size_t device, double compute, double bytes) const;
  // Where they should go; null when they should not.
  std::shared_ptr<DeviceTimings> timingsOf(size_t device) const;
  // The estimate had to guess dimensions.
  bool guessesSizes(uint32_t subgraph, uint32_t operation);
  // The values that cross borders, and their bytes. Stays where it is.
  const PartitionGraph& graphOf(uint32_t subgraph);
  const hal::OperandSizes& sizes() const { return sizes_; }

  // How often the body of a loop is thought to run, and how likely either branch is.
  static constexpr double kIterations = 10;
  static constexpr double kBranch = 0.5;

 private:
  struct Figures {
    std::vector<WorkEstimate> work;                // by operation
    std::vector<std::vector<double>> performance;  // by device, by operation
    std::vector<std::vector<double>> compute;
    std::vector<double> performanceSum;  // by device
    std::vector<double> computeSum;
  };
  const Figures& figuresOf(uint32_t subgraph);
  Figures makeFigures(uint32_t subgraph);
  double pick(hal::PerformanceInfo info) const;
  double typePerformance(const hal::Capabilities& capabilities, const Subgraph& subgraph,
                         const Operation& operation) const;

  const Model& model_;
  std::vector<const Device*> devices_;
  std::vector<LinkCosts> links_;
  std::vector<DeviceTimings::Factors> factors_;
  const hal::ExecutionPreference preference_;
  const CostSettings settings_;
  const hal::OperandSizes sizes_;
  std::map<uint32_t, Figures> figures_;  // by subgraph
  std::map<uint32_t, PartitionGraph> graphs_;
};

}  // namespace halyard::runtime

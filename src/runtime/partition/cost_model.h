// CostModel: the costs of operations on each device, and of reaching the device.
// Thread safety: one thread at a time.
// Ownership: borrows model and devices.
//
// A device states its speed relative to the CPU device's. The cost of an operation on the CPU is
// estimated from its shapes (work_estimate.h). A driver's own prediction for an operation replaces
// that (OperationSupport::cost). The cost of reaching a driver is estimated from
// figures of the machine (machine_figures.h). Measurements of executions improve both
// (device_timings.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hal/checks/operand_sizes.h"
#include "halyard/driver/hal_types.h"
#include "runtime/device/device_timings.h"
#include "runtime/partition/partition_graph.h"
#include "runtime/partition/plan.h"
#include "runtime/partition/work_estimate.h"

namespace halyard::runtime {

// The costs of a part on a device besides computing.
struct LinkCosts {
  double wakeNs = 0;     // both ways
  double nsPerByte = 0;  // for all inputs and outputs
};

struct CostSettings {
  CpuFigures cpu;
  // Not called for the CPU device.
  std::function<LinkCosts(const Device& device)> link;
  // Corrects predictions by measurements (Device::timings), and adds new measurements.
  bool learns = false;
  // False: NNAPI's plain choice, the best device for each operation.
  bool boundaries = true;

  // Returns the figures of this machine, measured at the first use. HALYARD_PARTITION_OVERHEAD=off
  // switches boundaries off.
  static CostSettings ofThisMachine();
};

class CostModel {
 public:
  CostModel(const Model& model, std::span<const Device* const> devices,
            hal::ExecutionPreference preference, CostSettings settings);

  // Uses the device's own predictions, in nanoseconds, for the operations of a subgraph that have
  // one. With LOW_POWER, which compares power, they are not used.
  void useOwn(uint32_t subgraph, size_t device, std::vector<std::optional<double>> costs);

  bool countsBoundaries() const { return settings_.boundaries; }
  // Returns the figure of NNAPI's rules from the device's own statements: smaller is better.
  double performance(uint32_t subgraph, uint32_t operation, size_t device);
  // Returns nanoseconds, or a power-based figure. Infinite if the device has no figure for the
  // type.
  double compute(uint32_t subgraph, uint32_t operation, size_t device);
  // Returns the cost of a part on its device.
  Cost costOf(uint32_t subgraph, const Part& part, const PartBorder& border);
  LinkCosts linkOf(size_t device) const { return links_[device]; }
  // Returns the prediction to compare measurements of a part with. `compute`: as predicted by this
  // object.
  PredictedParts uncorrected(size_t device, double compute, double bytes) const;
  // Returns the destination of measurements; null when they should not be collected.
  std::shared_ptr<DeviceTimings> timingsOf(size_t device) const;
  // Returns whether the estimate had to guess dimensions.
  bool guessesSizes(uint32_t subgraph, uint32_t operation);
  // The values that cross borders, and their bytes. The reference stays valid.
  const PartitionGraph& graphOf(uint32_t subgraph);
  const hal::OperandSizes& sizes() const { return sizes_; }

  // The assumed number of runs of a loop's body, and the probability of each branch.
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
  std::map<std::pair<uint32_t, size_t>, std::vector<std::optional<double>>> own_;
  std::map<uint32_t, PartitionGraph> graphs_;
};

}  // namespace halyard::runtime

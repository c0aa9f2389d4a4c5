// Preparation: from a model and candidate devices to a plan with everything prepared, around the
// devices that fail on the way.
// Thread safety: one call per compilation at a time. Ownership: the plan owns what was prepared.
#pragma once

#include <memory>
#include <vector>

#include "halyard/driver/device.h"
#include "runtime/cache/cached_preparation.h"
#include "runtime/partition/cost_model.h"
#include "runtime/partition/plan.h"
#include "runtime/report/report.h"

namespace halyard::runtime {

// HALYARD_PARTITION.
enum class PartitionMode : uint8_t {
  NONE,              // 0: everything on the CPU device
  WITH_FALLBACK,     // 1, and the default
  WITHOUT_FALLBACK,  // 2: what goes wrong is an error
};
PartitionMode partitionMode();

struct PreparationOptions {
  // Nothing but the devices may be used, whatever the mode.
  bool explicitDevices = false;
  PartitionMode mode = PartitionMode::WITH_FALLBACK;
  hal::PrepareOptions prepare;
  CostSettings costs;
  std::shared_ptr<const CachedPreparation> caching;  // null: the application asks for none
};

// A device that fails to prepare what it said it supports is left out for those operations and the
// model divided again; in the end everything goes to the CPU device, unless the model has
// operations of vendors. Without fallback, the failure is returned. `order`: for each operation of
// the model the application's index.
Result<std::shared_ptr<const Plan>> preparePlan(const ValidModel& model,
                                                const std::vector<uint32_t>& order,
                                                const std::vector<const Device*>& devices,
                                                const PreparationOptions& options, Report* report);

}  // namespace halyard::runtime

// Makes a plan with prepared steps from a model and candidate devices. Devices that fail to prepare
// are replaced.
// Thread safety: one call per compilation at a time. Ownership: the plan owns the prepared models.
#pragma once

#include <memory>
#include <vector>

#include "halyard/driver/device.h"
#include "runtime/cache/cached_preparation.h"
#include "runtime/partition/cost_model.h"
#include "runtime/partition/plan.h"
#include "runtime/report/report.h"

namespace halyard::runtime {

// The value of HALYARD_PARTITION.
enum class PartitionMode : uint8_t {
  NONE,              // 0: only the CPU device computes
  WITH_FALLBACK,     // 1, and the default
  WITHOUT_FALLBACK,  // 2: a failure is an error
};
PartitionMode partitionMode();

struct PreparationOptions {
  // Only the given devices may be used, for each mode.
  bool explicitDevices = false;
  PartitionMode mode = PartitionMode::WITH_FALLBACK;
  hal::PrepareOptions prepare;
  CostSettings costs;
  std::shared_ptr<const CachedPreparation> caching;  // null: the application does not use a cache
};

// If a device fails to prepare operations, the model is divided again without that device for these
// operations. At last the CPU device computes the whole model, unless the model has operations of
// vendors. The failure is returned without fallback and after a missed deadline. `order`: the
// application's index of each operation of the model.
Result<std::shared_ptr<const Plan>> preparePlan(const ValidModel& model,
                                                const std::vector<uint32_t>& order,
                                                const std::vector<const Device*>& devices,
                                                const PreparationOptions& options, Report* report);

}  // namespace halyard::runtime

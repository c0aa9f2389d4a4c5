// A model from another process on its way to the driver: checked, and made safe to compute with.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hal/checks/pool_mapping.h"
#include "hal/core/quota.h"
#include "halyard/driver/model.h"
#include "halyard/driver/valid_model.h"

namespace halyard::hal {

// As the wire has it: nothing is checked.
struct DecodedModel {
  Model model;  // without pools
  // The numbersOfConsumers that the sender states, main subgraph first, then the referenced ones.
  std::vector<std::vector<uint32_t>> consumers;
  // What the sender is charged for it; kept as long as the model.
  Quota::Charge memory;
  Quota::Charge descriptors;
};
// Charges `quota` for what has been decoded, before it waits for a thread; the import adds what it
// copies.
Status chargeModel(Quota& quota, DecodedModel& decoded, const std::vector<PoolDescription>& pools);

// The model with its pools, for a driver that has `level`. BAD_DATA when it is not valid
// or needs more.
// Afterwards the driver's CPU may trust what the model says: constants small enough to be
// parameters of an operation, and those that are not aligned to their elements, are private copies,
// which the sender can no longer change or take away. Pools in files that could shrink are
// SharedMemory::ofConstants: a private copy whenever they are mapped.
Result<ValidModel> importModel(DecodedModel decoded,
                                                 std::vector<PoolDescription> pools,
                                                 FeatureLevel level);

}  // namespace halyard::hal

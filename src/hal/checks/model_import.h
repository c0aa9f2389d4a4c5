// Imports a model from another process for the driver: checks it, and makes computing with it safe.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hal/checks/pool_mapping.h"
#include "hal/core/quota.h"
#include "halyard/driver/model.h"
#include "halyard/driver/valid_model.h"

namespace halyard::hal {

// The decoded form of the wire; nothing is checked.
struct DecodedModel {
  Model model;  // without pools
  // The numbersOfConsumers from the sender: main subgraph first, then the referenced ones.
  std::vector<std::vector<uint32_t>> consumers;
  // The sender's charge for the memory; kept as long as the model.
  Quota::Charge memory;
  Quota::Charge descriptors;
};
// Charges `quota` for the decoded model, before the model waits for a thread. The import adds the
// memory that it copies.
Status chargeModel(Quota& quota, DecodedModel& decoded, const std::vector<PoolDescription>& pools);

// Returns the model with its pools for a driver of `level`. Returns BAD_DATA when it is not valid
// or needs a higher level. The driver's CPU may trust the result. Constants that may be parameters
// of operations, and unaligned constants, are private copies. The sender cannot change or remove
// them. Pools in files that could shrink are SharedMemory::ofConstants, which become a private copy
// when mapped.
Result<ValidModel> importModel(DecodedModel decoded, std::vector<PoolDescription> pools,
                               FeatureLevel level);

}  // namespace halyard::hal

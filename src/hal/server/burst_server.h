// The driver's side of configureExecutionBurst: opens a ring for the client.
// Thread safety: loop thread only.
// Ownership: the ring lives as long as the client's IBurstContext.
#pragma once

#include <memory>

#include "hal/server/server_core.h"
#include "hal/v1_2.capnp.h"

namespace halyard::hal {

// The maximum number of bursts of one client.
inline constexpr unsigned kMaxBursts = 256;

struct BurstTarget {
  std::shared_ptr<ServedClient> client;
  std::shared_ptr<const Model> model;
  std::shared_ptr<PreparedModel> preparedModel;
  Priority priority = Priority::MEDIUM;
  HalVersion version = HalVersion::V1_2;
};

using ConfigureBurstContext =
    capnp::CallContext<wire::v1_2::IPreparedModel::ConfigureExecutionBurstParams,
                       wire::v1_2::IPreparedModel::ConfigureExecutionBurstResults>;

// Answers the call. GENERAL_FAILURE, with a text, for invalid channels.
kj::Promise<void> configureBurst(ConfigureBurstContext context, BurstTarget target);

}  // namespace halyard::hal

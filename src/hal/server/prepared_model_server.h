// The wire's IPreparedModel, in front of a hal::PreparedModel.
// Thread safety: loop thread only.
// Ownership: shares the client, the prepared model and its model; refers to the ServerCore.
#pragma once

#include "hal/server/server_core.h"
#include "hal/v1_3.capnp.h"

namespace halyard::hal {

// `version`: of the device, whose newer methods are not served. `priority`: as the model was
// prepared with.
wire::v1_3::IPreparedModel::Client makePreparedModelServer(
    std::shared_ptr<ServedClient> client, std::shared_ptr<const Model> model,
    std::shared_ptr<PreparedModel> preparedModel, HalVersion version, Priority priority);

// What is behind a capability that the client names as one of its prepared models; null when it is
// none. Never fails.
kj::Promise<std::shared_ptr<PreparedModel>> preparedModelOf(
    ServedClient& client, wire::v1_3::IPreparedModel::Client capability);

// The exception with which a method of `method` is refused by an object of an older version.
kj::Exception tooOld(HalVersion method, HalVersion version);

}  // namespace halyard::hal

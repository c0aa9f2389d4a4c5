// Serves the wire's IPreparedModel with a hal::PreparedModel.
// Thread safety: loop thread only.
// Ownership: shares the client, the prepared model and its model. Refers to the ServerCore.
#pragma once

#include "hal/server/server_core.h"
#include "hal/v1_3.capnp.h"

namespace halyard::hal {

// `version`: the device's version; newer methods are not served. `priority`: the priority of the
// preparation.
wire::v1_3::IPreparedModel::Client makePreparedModelServer(
    std::shared_ptr<ServedClient> client, std::shared_ptr<const Model> model,
    std::shared_ptr<PreparedModel> preparedModel, HalVersion version, Priority priority);

// The prepared model behind a client's capability. Null if it is not one of this client's prepared
// models. Never fails.
kj::Promise<std::shared_ptr<PreparedModel>> preparedModelOf(
    ServedClient& client, wire::v1_3::IPreparedModel::Client capability);

// The exception of an object of `version` for a newer method.
kj::Exception tooOld(HalVersion method, HalVersion version);

}  // namespace halyard::hal

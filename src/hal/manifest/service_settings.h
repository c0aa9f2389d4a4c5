// What a driver that runs as a service allows its clients, as its manifest has it.
// Thread safety: plain data and pure functions. Ownership: owns its data.
//
// In a manifest with "socket", "service" is an object; every field may be left out:
//   allow        {"users": [UID, ...], "groups": [GID, ...]}: who is served; without it everybody
//                who may connect to the socket. A group counts if it is the client's first one.
//   connections  at a time, of all users
//   client       limits for each client (one connection): {"memory_bytes", "models", "executions",
//                "buffers", "rings", "descriptors", "queued_calls"}
//   user         limits for all clients of a user together: the same but for "queued_calls", and
//                "connections"
#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "hal/core/quota.h"

namespace halyard::hal {

struct ServiceSettings {
  std::optional<std::vector<uid_t>> users;  // with `groups` the only ones that are served
  std::optional<std::vector<gid_t>> groups;
  uint32_t connections = 256;
  uint32_t connectionsOfUser = 128;
  uint32_t queuedCalls = 256;  // of a client, that wait for a thread
  QuotaLimits client;
  QuotaLimits user;

  // What docs/isolation.md lists.
  static ServiceSettings defaults();
  bool allows(uid_t uid, gid_t gid) const;
};

// BAD_DATA naming the field.
Result<ServiceSettings> parseService(const nlohmann::json& object);

}  // namespace halyard::hal

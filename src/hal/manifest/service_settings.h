// The clients of a driver that runs as a service and their limits, as in its manifest.
// Thread safety: plain data and pure functions. Ownership: owns its data.
//
// In a manifest with "socket", "service" is an object; every field is optional:
//   allow        {"users": [UID, ...], "groups": [GID, ...]}: the served clients; by default all
//                clients that may connect to the socket. Only a client's primary group counts.
//   connections  the maximum at a time, for all users
//   client       limits for each client (one connection): {"memory_bytes", "models", "executions",
//                "buffers", "rings", "descriptors", "queued_calls"}
//   user         limits for all clients of a user together: the same without "queued_calls", and
//                "connections"
#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "hal/core/quota.h"

namespace halyard::hal {

struct ServiceSettings {
  std::optional<std::vector<uid_t>> users;  // only these users and those of `groups` are served
  std::optional<std::vector<gid_t>> groups;
  uint32_t connections = 256;
  uint32_t connectionsOfUser = 128;
  uint32_t queuedCalls = 256;  // calls of a client that wait for a thread
  QuotaLimits client;
  QuotaLimits user;

  // The values that docs/isolation.md lists.
  static ServiceSettings defaults();
  bool allows(uid_t uid, gid_t gid) const;
};

// BAD_DATA names the field.
Result<ServiceSettings> parseService(const nlohmann::json& object);

}  // namespace halyard::hal

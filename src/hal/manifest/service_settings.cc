#include "hal/manifest/service_settings.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hal/core/json_fields.h"

namespace halyard::hal {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxIds = 1000;

template <typename Id>
Result<std::vector<Id>> parseIds(const Json& list, const std::string& field) {
  HALYARD_RETURN_IF_ERROR(checkKind(list, list.is_array(), field, "a list"));
  if (list.size() > kMaxIds) return badData("field '{}' has more than {} ids", field, kMaxIds);
  std::vector<Id> ids;
  for (const Json& entry : list) {
    HALYARD_ASSIGN_OR_RETURN(const uint64_t id, numberField(entry, field, 0, UINT32_MAX - 1));
    ids.push_back(static_cast<Id>(id));
  }
  return ids;
}

Status parseAllow(const Json& object, ServiceSettings& settings) {
  HALYARD_RETURN_IF_ERROR(checkKind(object, object.is_object(), "allow", "an object"));
  for (const auto& [field, value] : object.items()) {
    if (field == "users") {
      HALYARD_ASSIGN_OR_RETURN(settings.users, parseIds<uid_t>(value, "allow.users"));
    } else if (field == "groups") {
      HALYARD_ASSIGN_OR_RETURN(settings.groups, parseIds<gid_t>(value, "allow.groups"));
    } else {
      return badData("field 'allow.{}' is unknown", field);
    }
  }
  return okStatus();
}

// Returns null when the field does not belong to a quota.
uint64_t* limitNamed(QuotaLimits& limits, std::string_view field) {
  if (field == "memory_bytes") return &limits.memoryBytes;
  if (field == "models") return &limits.models;
  if (field == "executions") return &limits.executions;
  if (field == "buffers") return &limits.buffers;
  if (field == "rings") return &limits.rings;
  if (field == "descriptors") return &limits.descriptors;
  return nullptr;
}

// `other`: the one field that does not belong to a quota, and its destination.
Status parseLimits(const Json& object, const std::string& name, QuotaLimits& limits,
                   std::string_view other, uint32_t& otherValue) {
  HALYARD_RETURN_IF_ERROR(checkKind(object, object.is_object(), name, "an object"));
  constexpr uint64_t kMost = uint64_t{1} << 62;
  for (const auto& [field, value] : object.items()) {
    const std::string full = fmt::format("{}.{}", name, field);
    if (field == other) {
      HALYARD_ASSIGN_OR_RETURN(const uint64_t count, numberField(value, full, 1, 1'000'000));
      otherValue = static_cast<uint32_t>(count);
      continue;
    }
    uint64_t* const limit = limitNamed(limits, field);
    if (limit == nullptr) return badData("field '{}' is unknown", full);
    HALYARD_ASSIGN_OR_RETURN(*limit, numberField(value, full, 0, kMost));
  }
  return okStatus();
}

}  // namespace

ServiceSettings ServiceSettings::defaults() {
  struct sysinfo info {};
  ::sysinfo(&info);
  const uint64_t memory = uint64_t{info.totalram} * info.mem_unit;
  ServiceSettings settings;
  settings.client = {.memoryBytes = memory / 8,
                     .models = 256,
                     .executions = 64,
                     .buffers = 1024,
                     .rings = 256,
                     .descriptors = 2048};
  settings.user = {.memoryBytes = memory / 2,
                   .models = 4096,
                   .executions = 256,
                   .buffers = 8192,
                   .rings = 2048,
                   .descriptors = 8192};
  return settings;
}

bool ServiceSettings::allows(uid_t uid, gid_t gid) const {
  if (!users && !groups) return true;
  const auto has = [](const auto& list, auto id) {
    return list && std::find(list->begin(), list->end(), id) != list->end();
  };
  return has(users, uid) || has(groups, gid);
}

Result<ServiceSettings> parseService(const Json& object) {
  HALYARD_RETURN_IF_ERROR(checkKind(object, object.is_object(), "service", "an object"));
  ServiceSettings settings = ServiceSettings::defaults();
  for (const auto& [field, value] : object.items()) {
    if (field == "allow") {
      HALYARD_RETURN_IF_ERROR(parseAllow(value, settings), "service");
    } else if (field == "connections") {
      HALYARD_ASSIGN_OR_RETURN(const uint64_t count, numberField(value, field, 1, 10'000),
                               "service");
      settings.connections = static_cast<uint32_t>(count);
    } else if (field == "client") {
      HALYARD_RETURN_IF_ERROR(
          parseLimits(value, field, settings.client, "queued_calls", settings.queuedCalls),
          "service");
    } else if (field == "user") {
      HALYARD_RETURN_IF_ERROR(
          parseLimits(value, field, settings.user, "connections", settings.connectionsOfUser),
          "service");
    } else {
      return badData("service: field '{}' is unknown", field);
    }
  }
  return settings;
}

}  // namespace halyard::hal

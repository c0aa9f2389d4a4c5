#include "serve/repository/model_config.h"

#include <android/NeuralNetworks.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace halyard::serve {
namespace {

using nlohmann::json;

constexpr uint64_t kMostBatch = 1024;
constexpr uint64_t kMostDelay = 10'000'000;  // microseconds
constexpr uint64_t kMostQueue = 1'000'000;
constexpr uint64_t kMostInstances = 64;
constexpr uint64_t kMostTimeout = uint64_t{3600} * 1'000'000;

Result<uint64_t> numberOf(const json& value, uint64_t least, uint64_t most) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() < least ||
      value.get<uint64_t>() > most) {
    return badData("{}, expected a whole number from {} to {}",
                   value.dump(-1, ' ', true, json::error_handler_t::replace), least, most);
  }
  return value.get<uint64_t>();
}

Result<int32_t> wordOf(const json& value,
                       std::initializer_list<std::pair<const char*, int32_t>> words) {
  std::string names;
  for (const auto& [word, code] : words) {
    if (value.is_string() && value.get_ref<const std::string&>() == word) return code;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", word);
  }
  return badData("{}, expected one of {}",
                 value.dump(-1, ' ', true, json::error_handler_t::replace), names);
}

Result<bool> truthOf(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  return badData("{}, expected true or false",
                 value.dump(-1, ' ', true, json::error_handler_t::replace));
}

Result<std::vector<std::string>> textsOf(const json& value) {
  std::vector<std::string> texts;
  if (!value.is_array()) return badData("a {}, expected an array of strings", value.type_name());
  for (const json& each : value) {
    if (!each.is_string())
      return badData("an element is a {}, expected a string", each.type_name());
    texts.push_back(each.get<std::string>());
  }
  return texts;
}

// [{"devices": ["cpu"], "count": 2}]
Result<std::vector<InstanceGroup>> groupsOf(const json& value) {
  if (!value.is_array() || value.empty() || value.size() > kMostInstances) {
    return badData("expected an array of 1 to {} groups", kMostInstances);
  }
  std::vector<InstanceGroup> groups;
  for (const json& each : value) {
    if (!each.is_object()) return badData("a group is a {}, expected an object", each.type_name());
    InstanceGroup& group = groups.emplace_back();
    for (const auto& [name, field] : each.items()) {
      if (name == "devices") {
        HALYARD_ASSIGN_OR_RETURN(group.devices, textsOf(field), "devices");
      } else if (name == "count") {
        HALYARD_ASSIGN_OR_RETURN(const uint64_t count, numberOf(field, 1, kMostInstances), "count");
        group.count = static_cast<uint32_t>(count);
      } else {
        return badData("the field '{}' is unknown, expected devices and count", name);
      }
    }
  }
  return groups;
}

Result<std::vector<std::string>> versionsOf(const json& value, bool& all) {
  std::vector<std::string> versions;
  all = value == "all";
  if (all || value == "latest") return versions;
  if (!value.is_array()) return badData(R"(expected "latest", "all" or an array of numbers)");
  for (const json& each : value) {
    HALYARD_ASSIGN_OR_RETURN(const uint64_t number, numberOf(each, 1, INT64_MAX));
    versions.push_back(std::to_string(number));
  }
  return versions;
}

Status readField(const std::string& name, const json& value, ModelConfig& config) {
  ModelSettings& settings = config.settings;
  if (name == "max_batch_size") {
    HALYARD_ASSIGN_OR_RETURN(const uint64_t number, numberOf(value, 0, kMostBatch));
    settings.maxBatch = static_cast<uint32_t>(number);
  } else if (name == "max_queue_delay_us") {
    HALYARD_ASSIGN_OR_RETURN(const uint64_t number, numberOf(value, 0, kMostDelay));
    settings.queueDelay = std::chrono::microseconds(number);
  } else if (name == "max_queue_size") {
    HALYARD_ASSIGN_OR_RETURN(const uint64_t number, numberOf(value, 1, kMostQueue));
    settings.queueLimit = static_cast<uint32_t>(number);
  } else if (name == "default_timeout_us") {
    HALYARD_ASSIGN_OR_RETURN(const uint64_t number, numberOf(value, 1, kMostTimeout));
    settings.defaultTimeout = std::chrono::microseconds(number);
  } else if (name == "instances") {
    HALYARD_ASSIGN_OR_RETURN(settings.instances, groupsOf(value));
  } else if (name == "preference") {
    HALYARD_ASSIGN_OR_RETURN(
        settings.preference,
        wordOf(value, {{"low-power", ANEURALNETWORKS_PREFER_LOW_POWER},
                       {"fast", ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER},
                       {"sustained", ANEURALNETWORKS_PREFER_SUSTAINED_SPEED}}));
  } else if (name == "priority") {
    HALYARD_ASSIGN_OR_RETURN(settings.priority,
                             wordOf(value, {{"low", ANEURALNETWORKS_PRIORITY_LOW},
                                            {"medium", ANEURALNETWORKS_PRIORITY_MEDIUM},
                                            {"high", ANEURALNETWORKS_PRIORITY_HIGH}}));
  } else if (name == "allow_fp16") {
    HALYARD_ASSIGN_OR_RETURN(settings.allowFloat16, truthOf(value));
  } else if (name == "labels") {
    if (!value.is_string()) return badData("a {}, expected a file name", value.type_name());
    config.labelsFile = value.get<std::string>();
  } else if (name == "versions") {
    HALYARD_ASSIGN_OR_RETURN(config.versions, versionsOf(value, config.allVersions));
  } else {
    return badData(
        "the field is unknown, expected max_batch_size, max_queue_delay_us, max_queue_size, "
        "default_timeout_us, instances, preference, priority, allow_fp16, labels or versions");
  }
  return okStatus();
}

}  // namespace

Result<ModelConfig> parseModelConfig(std::string_view text, const ModelSettings& defaults) {
  const json parsed = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return badData("expected a JSON object");
  ModelConfig config;
  config.settings = defaults;
  for (const auto& [name, value] : parsed.items()) {
    HALYARD_RETURN_IF_ERROR(readField(name, value, config), "{}", name);
  }
  return config;
}

}  // namespace halyard::serve

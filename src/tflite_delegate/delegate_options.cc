#include "tflite_delegate/delegate_options.h"

#include <android/NeuralNetworks.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace halyard::tflite {
namespace {

constexpr std::string_view kTruth = "true or false";

Result<bool> truthOf(std::string_view value) {
  for (const std::string_view yes : {"true", "True", "1", "yes", "on"}) {
    if (value == yes) return true;
  }
  for (const std::string_view no : {"false", "False", "0", "no", "off"}) {
    if (value == no) return false;
  }
  return badData("is '{}', expected {}", value, kTruth);
}

Result<uint64_t> numberOf(std::string_view value, uint64_t least, uint64_t most) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < least ||
      number > most) {
    return badData("is '{}', expected a whole number from {} to {}", value, least, most);
  }
  return number;
}

struct Choice {
  std::string_view name;
  int32_t value;
};

Result<int32_t> chosen(std::string_view value, std::span<const Choice> choices) {
  std::string names;
  for (const Choice& choice : choices) {
    if (choice.name == value) return choice.value;
    if (!names.empty()) names += ", ";
    names += choice.name;
  }
  return badData("is '{}', expected one of {}", value, names);
}

constexpr Choice kPreferences[] = {
    {"low_power", ANEURALNETWORKS_PREFER_LOW_POWER},
    {"fast_single_answer", ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER},
    {"sustained_speed", ANEURALNETWORKS_PREFER_SUSTAINED_SPEED},
};
constexpr Choice kPriorities[] = {
    {"low", ANEURALNETWORKS_PRIORITY_LOW},
    {"medium", ANEURALNETWORKS_PRIORITY_MEDIUM},
    {"high", ANEURALNETWORKS_PRIORITY_HIGH},
};

std::vector<std::string> namesOf(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) names.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

constexpr uint64_t kMostMilliseconds = 24ULL * 60 * 60 * 1000;
constexpr uint64_t kMostCount = 1'000'000;

using Value = std::string_view;
using Setter = Status (*)(DelegateOptions&, Value);

template <auto kMember>
Status setTruth(DelegateOptions& options, Value value) {
  HALYARD_ASSIGN_OR_RETURN(options.*kMember, truthOf(value));
  return okStatus();
}
template <auto kMember>
Status setText(DelegateOptions& options, Value value) {
  options.*kMember = value;
  return okStatus();
}
template <auto kMember, uint64_t kLeast>
Status setCount(DelegateOptions& options, Value value) {
  HALYARD_ASSIGN_OR_RETURN(options.*kMember, numberOf(value, kLeast, kMostCount));
  return okStatus();
}
Status setDevices(DelegateOptions& options, Value value) {
  options.devices = namesOf(value);
  return okStatus();
}
Status setPreference(DelegateOptions& options, Value value) {
  HALYARD_ASSIGN_OR_RETURN(options.preference, chosen(value, kPreferences));
  return okStatus();
}
Status setPriority(DelegateOptions& options, Value value) {
  HALYARD_ASSIGN_OR_RETURN(options.priority, chosen(value, kPriorities));
  return okStatus();
}
Status setTimeout(DelegateOptions& options, Value value) {
  HALYARD_ASSIGN_OR_RETURN(const uint64_t milliseconds, numberOf(value, 1, kMostMilliseconds));
  options.timeoutNs = milliseconds * 1'000'000;
  return okStatus();
}

constexpr OptionKey kKeys[] = {
    {"device", "names of devices, with commas between them"},
    {"require_device", kTruth},
    {"cache_dir", "a folder for compilations"},
    {"preference", "low_power, fast_single_answer or sustained_speed"},
    {"priority", "low, medium or high"},
    {"timeout_ms", "a number of milliseconds"},
    {"allow_fp16", kTruth},
    {"max_partitions", "a number, 0: no limit"},
    {"min_operations_per_partition", "a number from 1 on"},
    {"claim_all", kTruth},
    {"report", "a file to write"},
    {"verbose", kTruth},
};
// In the order of kKeys.
constexpr Setter kSetters[] = {
    setDevices,
    setTruth<&DelegateOptions::requireDevice>,
    setText<&DelegateOptions::cacheFolder>,
    setPreference,
    setPriority,
    setTimeout,
    setTruth<&DelegateOptions::allowFloat16>,
    setCount<&DelegateOptions::maxPartitions, 0>,
    setCount<&DelegateOptions::minOperations, 1>,
    setTruth<&DelegateOptions::claimsAll>,
    setText<&DelegateOptions::report>,
    setTruth<&DelegateOptions::verbose>,
};
static_assert(std::size(kKeys) == std::size(kSetters));

}  // namespace

std::span<const OptionKey> optionKeys() { return kKeys; }

Result<DelegateOptions> parseOptions(
    std::span<const std::pair<std::string_view, std::string_view>> options) {
  DelegateOptions parsed;
  for (const auto& [key, value] : options) {
    const auto found = std::ranges::find(kKeys, key, &OptionKey::key);
    if (found == std::end(kKeys)) {
      std::string known;
      for (const OptionKey& each : kKeys) {
        known += known.empty() ? "" : ", ";
        known += each.key;
      }
      return badData("option '{}' is unknown, the options are {}", key, known);
    }
    HALYARD_RETURN_IF_ERROR(kSetters[found - kKeys](parsed, value), "option '{}'", key);
  }
  if (parsed.requireDevice && parsed.devices.empty()) {
    return badData("option 'require_device' needs option 'device'");
  }
  if (parsed.timeoutNs && (!parsed.requireDevice || parsed.devices.size() != 1)) {
    return badData(
        "option 'timeout_ms' needs one name in 'device', and 'require_device': only one device "
        "has a deadline");
  }
  return parsed;
}

}  // namespace halyard::tflite

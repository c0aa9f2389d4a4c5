#include "serve/protocol/parameters.h"

namespace halyard::serve {
namespace {

constexpr uint64_t kMostMicroseconds = uint64_t{24} * 3600 * 1'000'000;
constexpr uint64_t kMostClasses = 1'000'000;

template <typename T>
Result<std::optional<T>> parameterOf(const Parameters& parameters, std::string_view name,
                                     std::string_view expected) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return std::optional<T>();
  if (const T* value = std::get_if<T>(&found->second)) return std::optional<T>(*value);
  return badData("the parameter '{}' is not {}", name, expected);
}

}  // namespace

Result<std::optional<bool>> boolParameter(const Parameters& parameters, std::string_view name) {
  return parameterOf<bool>(parameters, name, "true or false");
}

Result<std::optional<std::string>> textParameter(const Parameters& parameters,
                                                 std::string_view name) {
  return parameterOf<std::string>(parameters, name, "a string");
}

Result<std::optional<uint64_t>> countParameter(const Parameters& parameters,
                                               std::string_view name) {
  HALYARD_ASSIGN_OR_RETURN(const std::optional<int64_t> value,
                           parameterOf<int64_t>(parameters, name, "a whole number"));
  if (!value) return std::optional<uint64_t>();
  if (*value < 0) return badData("the parameter '{}' is {}, expected 0 or more", name, *value);
  return std::optional(static_cast<uint64_t>(*value));
}

Status applyRequestParameters(const Parameters& parameters, Clock::time_point arrival,
                              InferRequest& request) {
  for (const char* sequence : {"sequence_id", "sequence_start", "sequence_end"}) {
    if (parameters.contains(sequence)) {
      return badData("the parameter '{}': this server has no sequences", sequence);
    }
  }
  HALYARD_ASSIGN_OR_RETURN(const auto priority, countParameter(parameters, "priority"));
  if (priority && *priority > UINT32_MAX) {
    return badData("the parameter 'priority' is {}, expected at most {}", *priority, UINT32_MAX);
  }
  request.priority = static_cast<uint32_t>(priority.value_or(0));
  HALYARD_ASSIGN_OR_RETURN(const auto timeout, countParameter(parameters, "timeout"));
  if (timeout && *timeout != 0) {
    const uint64_t bounded = std::min(*timeout, kMostMicroseconds);
    request.deadline = arrival + std::chrono::microseconds(bounded);
  }
  HALYARD_ASSIGN_OR_RETURN(const auto binary, boolParameter(parameters, "binary_data_output"));
  request.binaryOutputs = binary.value_or(false);
  return okStatus();
}

Status applyOutputParameters(const Parameters& parameters, WantedOutput& output) {
  HALYARD_ASSIGN_OR_RETURN(output.binary, boolParameter(parameters, "binary_data"));
  HALYARD_ASSIGN_OR_RETURN(const auto classes, countParameter(parameters, "classification"));
  if (classes && *classes > kMostClasses) {
    return badData("the parameter 'classification' is {}, expected at most {}", *classes,
                   kMostClasses);
  }
  output.classes = static_cast<uint32_t>(classes.value_or(0));
  return okStatus();
}

Result<std::optional<RegionPart>> regionPartOf(const Parameters& parameters) {
  HALYARD_ASSIGN_OR_RETURN(auto region, textParameter(parameters, "shared_memory_region"));
  if (!region) return std::optional<RegionPart>();
  HALYARD_ASSIGN_OR_RETURN(const auto size, countParameter(parameters, "shared_memory_byte_size"));
  HALYARD_ASSIGN_OR_RETURN(const auto offset, countParameter(parameters, "shared_memory_offset"));
  if (!size) return badData("'shared_memory_region' without 'shared_memory_byte_size'");
  return std::optional(RegionPart{std::move(*region), offset.value_or(0), *size});
}

}  // namespace halyard::serve

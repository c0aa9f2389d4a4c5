// Parameters of requests, which JSON and gRPC write in different ways.
// Thread safety: pure functions over values. Ownership: values own their data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "halyard/driver/status.h"
#include "serve/protocol/infer.h"

namespace halyard::serve {

using Parameter = std::variant<bool, int64_t, double, std::string>;
using Parameters = std::map<std::string, Parameter, std::less<>>;

// The value of a parameter, or nullopt without it. BAD_DATA for a value of another kind. Numbers
// must not be negative.
Result<std::optional<bool>> boolParameter(const Parameters& parameters, std::string_view name);
Result<std::optional<uint64_t>> countParameter(const Parameters& parameters, std::string_view name);
Result<std::optional<std::string>> textParameter(const Parameters& parameters,
                                                 std::string_view name);

// Applies the parameters of a request: priority, timeout (in microseconds) and binary_data_output.
// BAD_DATA for parameters of sequences, which this server lacks. Ignores other parameters.
Status applyRequestParameters(const Parameters& parameters, Clock::time_point arrival,
                              InferRequest& request);
// Applies the parameters of a requested output: binary_data and classification.
Status applyOutputParameters(const Parameters& parameters, WantedOutput& output);

// nullopt if the parameters name no region. BAD_DATA for a region without a size.
Result<std::optional<RegionPart>> regionPartOf(const Parameters& parameters);

}  // namespace halyard::serve

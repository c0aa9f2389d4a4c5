// The JSON form of inference: requests with JSON arrays or with binary tensors behind the JSON.
// Thread safety: pure functions.
// Ownership: a parsed request refers to the body, which must outlive it.
//
// The body is hostile until it is validated. Errors name the field, the expected and the found
// value.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "halyard/driver/status.h"
#include "serve/protocol/infer.h"

namespace halyard::serve {

// Reads the body of a POST to .../infer. `jsonLength` is the value of the header
// Inference-Header-Content-Length, or nullopt without that header. The times of the request count
// from `arrival`. BAD_DATA for any fault.
Result<InferRequest> parseJsonInfer(std::string_view body, std::optional<size_t> jsonLength,
                                    Clock::time_point arrival);

// A request that is one tensor without JSON: Inference-Header-Content-Length is 0. The model must
// have one input; its variable dimension, if any, follows from the number of bytes.
Result<InferRequest> rawInfer(std::string_view body, std::span<const TensorInfo> inputs);

struct JsonAnswer {
  std::string body;
  std::optional<size_t> jsonLength;  // set if binary tensors follow the JSON
};
// Writes the answer, which must be a success. `request` tells the id and which outputs are binary.
// BAD_DATA for a value that JSON cannot express, such as a NaN.
Result<JsonAnswer> writeJsonInfer(const InferRequest& request, const InferAnswer& answer);

// {"error": "..."}; invalid UTF-8 in the text is replaced.
std::string errorJson(std::string_view text);

}  // namespace halyard::serve

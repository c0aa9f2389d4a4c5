// Outcome: how a request to the server ends, for any protocol.
// Thread safety: values. Ownership: an outcome owns its text.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "halyard/driver/status.h"

namespace halyard::serve {

enum class Fault : uint8_t {
  NONE,
  INVALID,          // the request is wrong; a repetition cannot help
  UNAUTHENTICATED,  // the token is missing or unknown
  TOO_LARGE,        // the request has more bytes than its limit
  NOT_FOUND,        // no model, version, region or path with that name
  OVERLOADED,       // a queue or a limit is full; a later repetition helps
  UNAVAILABLE,      // the model is not loaded, or the server shuts down
  LATE,             // the deadline has passed
  UNSUPPORTED,      // a part of the protocol that this server lacks
  INTERNAL,         // the model or a device has failed
  CANCELLED,        // the client has gone before the computation
};

class Outcome {
 public:
  Outcome() = default;  // success
  Outcome(Fault fault, std::string text) : fault_(fault), text_(std::move(text)) {}

  // BAD_DATA becomes INVALID, a missed deadline LATE, an exhausted resource OVERLOADED, a device
  // that is gone UNAVAILABLE. Other codes become INTERNAL, with their names.
  static Outcome of(const Status& status);
  static Outcome overloaded(std::string text, std::chrono::milliseconds retryAfter);

  bool ok() const { return fault_ == Fault::NONE; }
  Fault fault() const { return fault_; }
  const std::string& text() const { return text_; }
  // When a repetition is sensible; 0 if unknown.
  std::chrono::milliseconds retryAfter() const { return retryAfter_; }

 private:
  Fault fault_ = Fault::NONE;
  std::string text_;
  std::chrono::milliseconds retryAfter_{};
};

// The status of an HTTP response: 200, 400, 401, 404, 413, 429, 499, 500, 501, 503 or 504.
int httpStatusOf(Fault fault);
// The value of grpc::StatusCode.
int grpcCodeOf(Fault fault);
// A word for metrics, such as "overloaded".
std::string_view faultName(Fault fault);
inline constexpr size_t kFaultCount = static_cast<size_t>(Fault::CANCELLED) + 1;

}  // namespace halyard::serve

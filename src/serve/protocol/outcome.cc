#include "serve/protocol/outcome.h"

#include <array>

namespace halyard::serve {
namespace {

struct FaultRow {
  std::string_view name;
  int http;
  int grpc;
};

// In the order of Fault. The codes of gRPC: 3 INVALID_ARGUMENT, 16 UNAUTHENTICATED,
// 8 RESOURCE_EXHAUSTED, 5 NOT_FOUND, 14 UNAVAILABLE, 4 DEADLINE_EXCEEDED, 12 UNIMPLEMENTED,
// 13 INTERNAL, 1 CANCELLED. 499 is the number that nginx logs for it.
constexpr std::array<FaultRow, kFaultCount> kFaults = {{
    {"none", 200, 0},
    {"invalid", 400, 3},
    {"unauthenticated", 401, 16},
    {"too_large", 413, 8},
    {"not_found", 404, 5},
    {"overloaded", 429, 14},
    {"unavailable", 503, 14},
    {"late", 504, 4},
    {"unsupported", 501, 12},
    {"internal", 500, 13},
    {"cancelled", 499, 1},
}};

}  // namespace

Outcome Outcome::of(const Status& status) {
  switch (status.code()) {
    case ResultCode::NO_ERROR:
      return {};
    case ResultCode::BAD_DATA:
      return {Fault::INVALID, status.message()};
    case ResultCode::MISSED_DEADLINE_TRANSIENT:
    case ResultCode::MISSED_DEADLINE_PERSISTENT:
      return {Fault::LATE, status.message()};
    case ResultCode::RESOURCE_EXHAUSTED_TRANSIENT:
    case ResultCode::OUT_OF_MEMORY:
      return {Fault::OVERLOADED, status.message()};
    case ResultCode::UNAVAILABLE_DEVICE:
    case ResultCode::DEAD_OBJECT:
      return {Fault::UNAVAILABLE, status.message()};
    default:
      return {Fault::INTERNAL, status.toString()};
  }
}

Outcome Outcome::overloaded(std::string text, std::chrono::milliseconds retryAfter) {
  Outcome outcome(Fault::OVERLOADED, std::move(text));
  outcome.retryAfter_ = retryAfter;
  return outcome;
}

int httpStatusOf(Fault fault) { return kFaults[static_cast<size_t>(fault)].http; }
int grpcCodeOf(Fault fault) { return kFaults[static_cast<size_t>(fault)].grpc; }
std::string_view faultName(Fault fault) { return kFaults[static_cast<size_t>(fault)].name; }

}  // namespace halyard::serve

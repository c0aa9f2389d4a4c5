// The HAL's rules for requests, R1 to R7: a row for each way to keep or to break one.
// Thread safety: constant. Ownership: static; what a row makes belongs to the caller.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>

#include "halyard/driver/hal_types.h"
#include "validation/vts/hal_client.h"

namespace halyard::validation {

// A request that each version refuses, for addModel(4).
struct BadRequest {
  const char* rule;
  const char* name;
  void (*change)(hal::Request&);                   // of addMemory(4)'s; null: none
  void (*edit)(wire::Request::Builder) = nullptr;  // of the message
  bool fitsBurst = true;                           // can be said in a packet
  // Only the operation knows that it is wrong: it may fail as well, and later.
  bool isOperations = false;

  // `good` with the change; the edit is left to the caller.
  hal::Request spoilt(hal::Request good) const;
  // What may be answered.
  std::initializer_list<Code> codes() const;
};
std::span<const BadRequest> badRequests();

// A request whose rightness depends on the version, or on sizes that the model leaves open.
struct SizedRequest {
  // What is known of out[4] = a[4] + b[4].
  enum class Sizes : uint8_t { KNOWN, OPEN_OUTPUT, ALL_OPEN };
  const char* rule;
  const char* name;
  Sizes sizes;
  void (*change)(hal::Request&);    // a, b and out are the pools 0 to 2, of 16 bytes each
  std::optional<HalVersion> right;  // the first version that accepts it; without a value: none

  Model model() const;
  bool isRight(HalVersion method) const { return right && method >= *right; }
};
std::span<const SizedRequest> sizedRequests();

}  // namespace halyard::validation

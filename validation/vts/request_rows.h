// The HAL's rules for requests, R1 to R7. Each row keeps or breaks one rule in one way.
// Thread safety: constant.
// Ownership: static. The caller owns a request that a row makes.
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
  void (*change)(hal::Request&);                   // of addMemory(4)'s request; null: no change
  void (*edit)(wire::Request::Builder) = nullptr;  // of the message
  bool fitsBurst = true;                           // a packet can express it
  // Only the operation can find the error. It may also fail with another code, or later.
  bool isOperations = false;

  // `good` with the change. The caller makes the edit.
  hal::Request spoilt(hal::Request good) const;
  // The codes that a driver may answer.
  std::initializer_list<Code> codes() const;
};
std::span<const BadRequest> badRequests();

// A request that is valid or not depending on the version, or on sizes that the model leaves open.
struct SizedRequest {
  // The known sizes of out[4] = a[4] + b[4].
  enum class Sizes : uint8_t { KNOWN, OPEN_OUTPUT, ALL_OPEN };
  const char* rule;
  const char* name;
  Sizes sizes;
  void (*change)(hal::Request&);    // a, b and out are the pools 0 to 2, of 16 bytes each
  std::optional<HalVersion> right;  // the first version that accepts it; empty: no version

  Model model() const;
  bool isRight(HalVersion method) const { return right && method >= *right; }
};
std::span<const SizedRequest> sizedRequests();

}  // namespace halyard::validation

// Requests for addModel(4) that the HAL's rules R1 to R7 forbid.
// Thread safety: constant. Ownership: static.
#pragma once

#include <initializer_list>
#include <span>

#include "halyard/driver/hal_types.h"
#include "validation/vts/hal_client.h"

namespace halyard::validation {

struct BadRequest {
  const char* rule;
  const char* name;
  void (*change)(hal::Request&);                   // of addMemory(4)'s
  void (*edit)(wire::Request::Builder) = nullptr;  // of the message
  HalVersion since = HalVersion::V1_0;
  bool fitsBurst = true;  // can be said in a packet
  // Only the operation knows that it is wrong: it may fail as well, and later.
  bool isOperations = false;

  // What may be answered.
  std::initializer_list<Code> codes() const;
};
std::span<const BadRequest> badRequests();

}  // namespace halyard::validation

// Requests on the wire.
// Thread safety: loop thread only, except for the plain DecodedRequest.
// Ownership: results own their data.
#pragma once

#include <vector>

#include "hal/checks/request_import.h"
#include "hal/types.capnp.h"

namespace halyard::hal {

// Returns BAD_DATA when `request` has pointers, or pools that a message cannot carry.
Status checkEncodable(const Request& request);
// Writes a request that checkEncodable accepts.
void encodeRequest(const Request& request, wire::Request::Builder to);

// A received request: the data that can be read at once, and the memories for decodeMemories.
struct WireRequest {
  DecodedRequest decoded;
  std::vector<wire::Memory::Reader> memories;
};
Result<WireRequest> decodeRequest(wire::Request::Reader from);

}  // namespace halyard::hal

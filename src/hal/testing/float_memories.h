// Memories of four floats, and requests for the TestDevice that use them.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstring>
#include <vector>

#include "halyard/driver/hal_types.h"

namespace halyard::hal::testing {

inline SharedMemoryPtr memoryOf(const std::vector<float>& values) {
  SharedMemoryPtr memory = SharedMemory::create(16, "test").value();
  std::memcpy(memory->map().value().data(), values.data(), 16);
  return memory;
}

inline std::vector<float> contentsOf(const SharedMemoryPtr& memory) {
  std::vector<float> values(4);
  std::memcpy(values.data(), memory->map().value().data(), 16);
  return values;
}

// Adds the four floats at the start of each pool, into `out`.
inline Request sumRequest(const SharedMemoryPtr& a, const SharedMemoryPtr& b,
                          const SharedMemoryPtr& out) {
  Request request;
  for (uint32_t pool = 0; pool < 3; ++pool) {
    RequestArgument argument;
    argument.kind = RequestArgument::Kind::POOL;
    argument.location = {pool, 0, 16};
    (pool < 2 ? request.inputs : request.outputs).push_back(argument);
  }
  request.pools = {a, b, out};
  return request;
}

}  // namespace halyard::hal::testing

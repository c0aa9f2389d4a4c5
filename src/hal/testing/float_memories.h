// Memories of floats, and requests for the TestDevice that use memories of four.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstring>
#include <vector>

#include "halyard/driver/hal_types.h"

namespace halyard::hal::testing {

inline SharedMemoryPtr memoryOf(const std::vector<float>& values) {
  SharedMemoryPtr memory = SharedMemory::create(values.size() * sizeof(float), "test").value();
  const Mapping mapping = memory->map().value();
  std::memcpy(mapping.data(), values.data(), mapping.size());
  return memory;
}

// The four floats of a memory.
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

// Memory pools on the wire: a description, and a capability that carries the file descriptor.
// Thread safety: loop thread only.
// Ownership: an encoded capability keeps its SharedMemory; decoding duplicates descriptors.
#pragma once

#include <kj/async.h>

#include <map>
#include <vector>

#include "base/foreign_fd.h"
#include "hal/checks/pool_mapping.h"
#include "hal/types.capnp.h"

namespace halyard::hal {

// The maximum number of pools of a model or request. Each costs its receiver a descriptor.
inline constexpr size_t kMaxPools = 512;

// Writes the pools of one message, each file once.
class MemoryEncoder {
 public:
  // `index`: the pool's place in its list.
  void encode(const SharedMemoryPtr& memory, uint32_t index, wire::Memory::Builder to);

 private:
  std::map<int, uint32_t> indexByFd_;
};
// Returns BAD_DATA when a message cannot carry all the pools.
Status checkPoolCount(const std::vector<SharedMemoryPtr>& pools);

// Takes at most kMaxPools pools of a message as they are described. A missing descriptor stays
// invalid, so that ReceivedPool::open reports it. Returns BAD_DATA for an invalid `sameAs`.
kj::Promise<Result<std::vector<PoolDescription>>> decodeMemories(
    std::vector<wire::Memory::Reader> memories);

// Returns a duplicate of a cache file's descriptor; invalid unless the handle has exactly one.
kj::Promise<ForeignFd> decodeHandle(wire::Handle::Reader handle);
// Returns a capability for a duplicate of the descriptor. Null when duplication fails, or for -1.
kj::Maybe<wire::FileDescriptor::Client> encodeFile(int fd);

// Returns a duplicate of the capability's descriptor; invalid when it has none, or is a promise.
// Throws OVERLOADED when takeReceived refuses.
kj::Promise<ForeignFd> duplicateFd(wire::FileDescriptor::Client client);

}  // namespace halyard::hal

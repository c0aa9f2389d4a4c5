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

// The most pools of one model or request; each costs its receiver a descriptor.
inline constexpr size_t kMaxPools = 512;

// Writes the pools of one message, each file once.
class MemoryEncoder {
 public:
  // `index`: the pool's place in its list.
  void encode(const SharedMemoryPtr& memory, uint32_t index, wire::Memory::Builder to);

 private:
  std::map<int, uint32_t> indexByFd_;
};
// BAD_DATA when the pools are more than a message may carry.
Status checkPoolCount(const std::vector<SharedMemoryPtr>& pools);

// Takes the pools of a message as they are described; a missing descriptor stays invalid, for
// ReceivedPool::open to name. At most kMaxPools. BAD_DATA: a `sameAs` that points nowhere.
kj::Promise<Result<std::vector<PoolDescription>>> decodeMemories(
    std::vector<wire::Memory::Reader> memories);

// The descriptor of a cache file, duplicated; invalid unless the handle has exactly one.
kj::Promise<ForeignFd> decodeHandle(wire::Handle::Reader handle);
// A capability for a descriptor, which is duplicated. Null when that fails, or for -1.
kj::Maybe<wire::FileDescriptor::Client> encodeFile(int fd);

// A duplicate of the capability's descriptor; invalid when it has none. Throws, OVERLOADED, as
// takeReceived refuses.
kj::Promise<ForeignFd> duplicateFd(wire::FileDescriptor::Client client);

}  // namespace halyard::hal

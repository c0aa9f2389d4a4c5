// The memory channel of a burst. The client sends its memories through it before the packets that
// use them, so that the driver need not ask (docs/burst_format.md). The channel is a socket pair
// with messages. The driver makes both ends, because a process with the reading end can block its
// readers.
// Thread safety: offerMemory: any thread. OfferedMemories: one thread at a time.
// Ownership: OfferedMemories owns the driver's end, and the received descriptors until they are
// taken.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "hal/checks/pool_mapping.h"
#include "hal/core/quota.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

// One message. It has one descriptor.
struct MemoryMessage {
  int32_t slot = 0;
  uint32_t kind = 0;  // MemoryKind
  uint32_t prot = 0;  // 1: read, 2: write
  uint32_t unused = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
};
static_assert(sizeof(MemoryMessage) == 32);

// Sends the memory in `slot`. Never blocks. Returns false when it cannot send. The driver then asks
// for the memory.
bool offerMemory(int channel, int32_t slot, const SharedMemory& memory);

// The driver's end. Received data is not trusted, and invalid messages are ignored.
class OfferedMemories {
 public:
  // The maximum number of memories that wait for use.
  static constexpr size_t kMost = 128;

  struct Made;
  // `quota`: the client's quota for descriptors; null: no limit. `closing`: the account for closing
  // descriptors; null: the account of all such clients.
  static Result<Made> create(std::shared_ptr<Quota> quota,
                             std::shared_ptr<ForeignAccount> closing = nullptr);

  // Receives all waiting messages. Never blocks.
  void receive();
  // Returns and removes the last memory for the slot.
  std::optional<PoolDescription> take(int32_t slot);
  bool has(int32_t slot) const { return offers_.contains(slot); }
  // Drops the received memory for the slot.
  void drop(int32_t slot) { offers_.erase(slot); }

 private:
  struct Kept {
    PoolDescription memory;
    Quota::Charge descriptor;
  };

  OfferedMemories(ForeignFd channel, std::shared_ptr<Quota> quota,
                  std::shared_ptr<ForeignAccount> closing)
      : channel_(std::move(channel)), quota_(std::move(quota)), closing_(std::move(closing)) {}
  // The descriptor of a message. Invalid unless the message has exactly one.
  ForeignFd takeDescriptor(msghdr& message) const;
  // Returns false when no more messages wait.
  bool receiveOne();
  void keep(int32_t slot, PoolDescription memory);

  ForeignFd channel_;  // unread messages are closed with it
  std::shared_ptr<Quota> quota_;
  std::shared_ptr<ForeignAccount> closing_;
  std::map<int32_t, Kept> offers_;  // by slot
};

struct OfferedMemories::Made {
  OfferedMemories memories;
  UniqueFd clientEnd;
};

}  // namespace halyard::hal

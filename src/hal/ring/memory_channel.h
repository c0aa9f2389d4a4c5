// The memory channel of a burst: by it the client hands memories over before it sends the packets
// that use them, so that the driver need not ask (docs/burst_format.md). A socket of messages; the
// driver makes both ends, for whoever holds the reading one can keep its readers waiting.
// Thread safety: offerMemory: any thread; OfferedMemories: one thread at a time.
// Ownership: OfferedMemories owns the driver's end, and the descriptors that have come and not been
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

// One message; with it comes one descriptor.
struct MemoryMessage {
  int32_t slot = 0;
  uint32_t kind = 0;  // MemoryKind
  uint32_t prot = 0;  // 1: read, 2: write
  uint32_t unused = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
};
static_assert(sizeof(MemoryMessage) == 32);

// Hands over what is in `slot`. Never blocks. False when it cannot: then the driver asks.
bool offerMemory(int channel, int32_t slot, const SharedMemory& memory);

// The driver's end. Nothing that comes is believed; what makes no sense is as if it had not come.
class OfferedMemories {
 public:
  // The most that are kept until they are used.
  static constexpr size_t kMost = 128;

  struct Made;
  // `quota`: of the client, for descriptors; null: no limit. `closing`: where they count when they
  // are closed; null: with those of all such clients.
  static Result<Made> create(std::shared_ptr<Quota> quota,
                             std::shared_ptr<ForeignAccount> closing = nullptr);

  // Takes in what has come. Never blocks.
  void receive();
  // What has come for the slot last, once.
  std::optional<PoolDescription> take(int32_t slot);
  bool has(int32_t slot) const { return offers_.contains(slot); }
  // Nothing that has come for the slot counts.
  void drop(int32_t slot) { offers_.erase(slot); }

 private:
  struct Kept {
    PoolDescription memory;
    Quota::Charge descriptor;
  };

  OfferedMemories(ForeignFd channel, std::shared_ptr<Quota> quota,
                  std::shared_ptr<ForeignAccount> closing)
      : channel_(std::move(channel)), quota_(std::move(quota)), closing_(std::move(closing)) {}
  // The one descriptor that has come; invalid if it was none, or more.
  ForeignFd takeDescriptor(msghdr& message) const;
  // False: there is nothing more.
  bool receiveOne();
  void keep(int32_t slot, PoolDescription memory);

  ForeignFd channel_;  // what has come and has not been taken is closed with it
  std::shared_ptr<Quota> quota_;
  std::shared_ptr<ForeignAccount> closing_;
  std::map<int32_t, Kept> offers_;  // by slot
};

struct OfferedMemories::Made {
  OfferedMemories memories;
  UniqueFd clientEnd;
};

}  // namespace halyard::hal

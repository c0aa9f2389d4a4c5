#include "hal/ring/memory_channel.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace halyard::hal {
namespace {

// One message; with it comes one descriptor.
struct Message {
  int32_t slot;
  uint32_t kind;
  uint32_t prot;  // 1: read, 2: write
  uint32_t unused;
  uint64_t size;
  uint64_t offset;
};
static_assert(sizeof(Message) == 32);

// Messages that are taken in at once: more than an honest client can have sent.
constexpr unsigned kMostAtOnce = 1024;

// Room for a message's descriptor, aligned as the kernel's headers want it. The kernel drops what
// finds none, but for alignment's sake there may be some for two.
union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

// The one descriptor that has come; invalid if it was none, or more.
UniqueFd takeDescriptor(msghdr& message) {
  UniqueFd taken;
  size_t all = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      taken.reset(fd);
    }
    all += count;
  }
  return all == 1 ? std::move(taken) : UniqueFd();
}

}  // namespace

bool offerMemory(int channel, int32_t slot, const SharedMemory& memory) {
  if (channel < 0) return false;
  const MemoryKind kind = memory.kind();
  if (kind != MemoryKind::ASHMEM && kind != MemoryKind::MMAP_FD) return false;
  Message offer{};
  offer.slot = slot;
  offer.kind = static_cast<uint32_t>(kind);
  offer.prot =
      ((memory.prot() & PROT_READ) != 0 ? 1 : 0) | ((memory.prot() & PROT_WRITE) != 0 ? 2 : 0);
  offer.size = memory.size();
  offer.offset = memory.offset();
  iovec data{&offer, sizeof offer};
  Control control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = memory.fd();
  std::memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(channel, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == sizeof offer;
}

Result<OfferedMemories::Made> OfferedMemories::create(std::shared_ptr<Quota> quota) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno, "socketpair for a burst");
  }
  return Made{OfferedMemories(UniqueFd(ends[0]), std::move(quota)), UniqueFd(ends[1])};
}

void OfferedMemories::receive() {
  for (unsigned i = 0; i < kMostAtOnce && receiveOne(); ++i) {
  }
}

bool OfferedMemories::receiveOne() {
  Message offer{};
  iovec data{&offer, sizeof offer};
  Control control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  const ssize_t size = ::recvmsg(channel_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) return errno == EINTR;
  UniqueFd fd = takeDescriptor(message);
  const bool isWhole = size == sizeof offer && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  // Nothing at all is the client's end, too.
  if (!isWhole || !fd.valid()) return size != 0;
  PoolDescription memory;
  memory.kind = offer.kind;
  memory.size = offer.size;
  memory.prot = offer.prot;
  memory.offset = offer.offset;
  memory.fd = std::move(fd);
  keep(offer.slot, std::move(memory));
  return true;
}

void OfferedMemories::keep(int32_t slot, PoolDescription memory) {
  offers_.erase(slot);
  const auto kind = static_cast<MemoryKind>(memory.kind);
  if (kind != MemoryKind::ASHMEM && kind != MemoryKind::MMAP_FD) return;
  if (offers_.size() >= kMost) return;
  Quota::Charge descriptor;
  if (quota_ != nullptr) {
    auto charge = quota_->charge(Quota::Resource::DESCRIPTORS, 1);
    if (!charge.ok()) return;
    descriptor = std::move(*charge);
  }
  offers_.emplace(slot, Kept{std::move(memory), std::move(descriptor)});
}

std::optional<PoolDescription> OfferedMemories::take(int32_t slot) {
  const auto at = offers_.find(slot);
  if (at == offers_.end()) return std::nullopt;
  PoolDescription memory = std::move(at->second.memory);
  offers_.erase(at);
  return memory;
}

}  // namespace halyard::hal
